package main

import (
	"math/rand/v2"

	"github.com/recrawl/recrawl/binpack"
	"github.com/recrawl/recrawl/webenv"
)

// dynamicTest is what the dynamic test of Yazidi 2006 crawls (examples/papers repeats the test
// itself): the probabilities of the pages move to the next one every so many slots.
var dynamicTest = struct {
	sites    []webenv.Site
	capacity float64
	states   int
	shift    int
}{
	sites: []webenv.Site{
		{Domain: "com", Pages: 131}, {Domain: "com", Pages: 91}, {Domain: "com", Pages: 91}, {Domain: "com", Pages: 87},
		{Domain: "com", Pages: 91}, {Domain: "com", Pages: 46}, {Domain: "com", Pages: 61}, {Domain: "com", Pages: 71},
		{Domain: "net", Pages: 74}, {Domain: "net", Pages: 84}, {Domain: "net", Pages: 62}, {Domain: "net", Pages: 92},
		{Domain: "net", Pages: 89}, {Domain: "net", Pages: 105},
		{Domain: "edu", Pages: 75}, {Domain: "edu", Pages: 95}, {Domain: "edu", Pages: 105}, {Domain: "edu", Pages: 113},
		{Domain: "org", Pages: 82}, {Domain: "org", Pages: 93},
	},
	capacity: 80, states: 16, shift: 2000,
}

// crawl is the scheme at work on the pages of the test.
type crawl struct {
	*binpack.Scheme
	env webenv.Env
}

func newCrawl(cfg binpack.SchemeConfig, seed uint64) (*crawl, error) {
	u, err := webenv.DomainZipfLaw(dynamicTest.sites)
	if err != nil {
		return nil, err
	}
	env, err := webenv.NewSlots(u, webenv.AtMostOnce, dynamicTest.shift, rand.NewPCG(seed, 1))
	if err != nil {
		return nil, err
	}
	pages := make([]int, len(dynamicTest.sites))
	for i, s := range dynamicTest.sites {
		pages[i] = s.Pages
	}
	scheme, err := binpack.NewScheme(pages, cfg, rand.NewPCG(seed, 2))
	if err != nil {
		return nil, err
	}
	return &crawl{scheme, env}, nil
}

// play plays a slot.
func (c *crawl) play(slot int) (binpack.SlotReport, error) {
	for _, page := range c.Next() {
		_, changed := c.env.Poll(page, float64(slot))
		if err := c.Observe(page, changed); err != nil {
			return binpack.SlotReport{}, err
		}
	}
	return c.Rebalance(), nil
}
