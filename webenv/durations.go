package webenv

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// A DurationNoise says how a duration scatters about its mean.
type DurationNoise uint8

const (
	// ExactDurations do not scatter.
	ExactDurations DurationNoise = iota
	// UniformNoise draws a duration uniformly from mean·(1 ± Scatter).
	UniformNoise
	// GaussianNoise adds a normal variable of standard deviation
	// Scatter·(Other − Perfect), in the unit of a duration. A draw below zero
	// counts as zero.
	GaussianNoise
	// ExponentialNoise draws a duration from the exponential law.
	ExponentialNoise
)

// A DurationSwitch says what becomes of the perfect access points after every
// period of crawls.
type DurationSwitch uint8

const (
	// DrawAnew draws every site's perfect access point again from all of them,
	// so that one site in Arms keeps its own by chance.
	DrawAnew DurationSwitch = iota
	// DrawOther draws it from all but the present one: every site's changes.
	DrawOther
)

// DurationsConfig describes sites that take time. Copy PaperDurations and set
// Sites and Arms.
type DurationsConfig struct {
	Sites int // number of web sites
	Arms  int // number of access points, at most 65535

	Perfect float64 // mean duration of a site from its perfect access point
	Other   float64 // mean duration from any other, more than Perfect

	Noise   DurationNoise
	Scatter float64 // size of UniformNoise (at most 1) or GaussianNoise

	// Sizes is the standard deviation of the logarithm of a site's size, by
	// which its durations are multiplied; the mean size is 1. 0 makes all alike.
	Sizes float64

	// Resources of each access point, by which the durations measured from it
	// are divided; nil for 1 each. No ratio of two may reach Other/Perfect, or a
	// site's perfect access point would not be its fastest.
	Resources []float64

	// Congestion c multiplies the durations from access point j by 1 + c·x,
	// where x is the load of j over its fair share: the sites accessed from
	// there last, over Sites·Resources[j]/ΣResources. 0 for none.
	Congestion float64

	// Balanced makes every access point the perfect one of equally many sites,
	// or as nearly as the numbers allow, where it is drawn independently
	// otherwise.
	Balanced bool

	// Every is the number of crawls after which the perfect access points
	// switch; 0 for never.
	Every  int
	Switch DurationSwitch
}

// PaperDurations are the mean durations that fit the totals published by Chen,
// Wang and Olsen (2006): 900 sites on 3 access points take about 40,000 units a
// crawl when spread uniformly and 22,000 at their perfect ones. Exact, static.
var PaperDurations = DurationsConfig{Perfect: 24.7, Other: 53.6}

// Durations is an environment of sites that take time, after Chen, Wang and
// Olsen (2006), section 3.1: how long an access takes is random, its mean
// depends on the access point, and each site has one perfect access point from
// which it is fastest on average. Sites and access points are numbered from 0.
// Eight bytes a site at most. Not safe for concurrent use.
type Durations struct {
	cfg     DurationsConfig
	rng     *rand.Rand
	perfect []uint16
	last    []uint16  // access point of the last access, or Arms before the first
	size    []float32 // nil if all are 1
	load    []int     // sites by access point of their last access
	share   []float64 // fair share of the sites
	crawl   int
}

// NewDurations returns an environment. It panics if src is nil.
func NewDurations(cfg DurationsConfig, src rand.Source) (*Durations, error) {
	if src == nil {
		panic("webenv: nil source of randomness")
	}
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.Resources = append([]float64(nil), cfg.Resources...)
	if len(cfg.Resources) == 0 {
		for range cfg.Arms {
			cfg.Resources = append(cfg.Resources, 1)
		}
	}
	d := &Durations{
		cfg:     cfg,
		rng:     rand.New(src),
		perfect: make([]uint16, cfg.Sites),
		last:    make([]uint16, cfg.Sites),
		load:    make([]int, cfg.Arms),
		share:   make([]float64, cfg.Arms),
	}
	total := 0.0
	for _, r := range cfg.Resources {
		total += r
	}
	for j, r := range cfg.Resources {
		d.share[j] = float64(cfg.Sites) * r / total
	}
	for i := range d.last {
		d.last[i] = uint16(cfg.Arms)
	}
	if cfg.Sizes > 0 {
		d.size = make([]float32, cfg.Sites)
		for i := range d.size {
			// Mean exp(µ + σ²/2) = 1.
			d.size[i] = float32(math.Exp(float64(cfg.Sizes*d.rng.NormFloat64()) - float64(cfg.Sizes*cfg.Sizes)/2))
		}
	}
	for i := range d.perfect {
		if cfg.Balanced {
			d.perfect[i] = uint16(i % cfg.Arms)
		} else {
			d.perfect[i] = uint16(d.rng.IntN(cfg.Arms))
		}
	}
	if cfg.Balanced {
		d.rng.Shuffle(len(d.perfect), func(i, k int) { d.perfect[i], d.perfect[k] = d.perfect[k], d.perfect[i] })
	}
	return d, nil
}

func (c *DurationsConfig) check() error {
	bad := func(what string, value any) error { return fmt.Errorf("%w: %s: %v", ErrConfig, what, value) }
	finite := func(x, least float64) bool { return x >= least && x <= math.MaxFloat64 }
	switch {
	case c.Sites < 1:
		return bad("number of sites", c.Sites)
	case c.Arms < 2 || c.Arms > math.MaxUint16:
		return bad("number of access points", c.Arms)
	case !(c.Perfect > 0) || !finite(c.Perfect, 0):
		return bad("mean duration from the perfect access point", c.Perfect)
	case !(c.Other > c.Perfect) || !finite(c.Other, 0):
		return bad("mean duration from another access point", c.Other)
	case c.Noise > ExponentialNoise:
		return bad("kind of noise", c.Noise)
	case !finite(c.Scatter, 0) || c.Noise == UniformNoise && c.Scatter > 1:
		return bad("scatter", c.Scatter)
	case !finite(c.Sizes, 0) || c.Sizes > 10:
		return bad("scatter of the sizes", c.Sizes)
	case !finite(c.Congestion, 0):
		return bad("congestion", c.Congestion)
	case c.Every < 0:
		return bad("crawls between two switches", c.Every)
	case c.Switch > DrawOther:
		return bad("kind of switch", c.Switch)
	case len(c.Resources) != 0 && len(c.Resources) != c.Arms:
		return bad("number of resources", len(c.Resources))
	}
	least, most := math.Inf(1), 0.0
	for j, r := range c.Resources {
		if !(r > 0) || !finite(r, 0) {
			return fmt.Errorf("%w: resources of access point %d: %v", ErrConfig, j, r)
		}
		least, most = min(least, r), max(most, r)
	}
	if len(c.Resources) > 0 && most/least >= c.Other/c.Perfect {
		return bad("ratio of the most resources to the least", most/least)
	}
	return nil
}

// Len returns the number of sites.
func (d *Durations) Len() int { return len(d.perfect) }

// Arms returns the number of access points.
func (d *Durations) Arms() int { return d.cfg.Arms }

// Perfect returns the access point from which a site is fastest on average
// where loads are equal.
func (d *Durations) Perfect(site int) int { return int(d.perfect[site]) }

// Loads appends to dst the number of sites last accessed from each access point.
func (d *Durations) Loads(dst []int) []int { return append(dst, d.load...) }

// Mean returns the mean duration of a site from an access point under the
// loads as they are.
func (d *Durations) Mean(site, arm int) float64 {
	return d.slowdown(arm, d.load[arm]) * d.alone(site, arm)
}

// alone is the mean duration without any load.
func (d *Durations) alone(site, arm int) float64 {
	mean := d.cfg.Other
	if int(d.perfect[site]) == arm {
		mean = d.cfg.Perfect
	}
	if d.size != nil {
		mean *= float64(d.size[site])
	}
	return mean / d.cfg.Resources[arm]
}

func (d *Durations) slowdown(arm, load int) float64 {
	return 1 + d.cfg.Congestion*float64(load)/d.share[arm]
}

// Access draws the duration of one access, in O(1). It moves the site's load to
// the access point. It panics if there is no such site or access point.
func (d *Durations) Access(site, arm int) float64 {
	if last := int(d.last[site]); last != arm {
		d.load[arm]++
		if last < d.cfg.Arms {
			d.load[last]--
		}
		d.last[site] = uint16(arm)
	}
	mean := d.Mean(site, arm)
	switch d.cfg.Noise {
	case UniformNoise:
		return mean * (1 + float64(d.cfg.Scatter*(2*d.rng.Float64()-1)))
	case GaussianNoise:
		return max(0, mean+float64(d.cfg.Scatter*(d.cfg.Other-d.cfg.Perfect)*d.rng.NormFloat64()))
	case ExponentialNoise:
		return mean * d.rng.ExpFloat64()
	default:
		return mean
	}
}

// EndCrawl ends a crawl: after every Every-th one the perfect access points switch.
// It tells whether they did. O(1), or O(Sites) when they switch.
func (d *Durations) EndCrawl() (switched bool) {
	d.crawl++
	if d.cfg.Every == 0 || d.crawl%d.cfg.Every != 0 {
		return false
	}
	arms := d.cfg.Arms
	switch {
	case d.cfg.Balanced && d.cfg.Switch == DrawAnew:
		d.rng.Shuffle(len(d.perfect), func(i, k int) { d.perfect[i], d.perfect[k] = d.perfect[k], d.perfect[i] })
	case d.cfg.Balanced:
		// A common step keeps the numbers balanced and every site's changes.
		step := 1 + d.rng.IntN(arms-1)
		for i, p := range d.perfect {
			d.perfect[i] = uint16((int(p) + step) % arms)
		}
	case d.cfg.Switch == DrawAnew:
		for i := range d.perfect {
			d.perfect[i] = uint16(d.rng.IntN(arms))
		}
	default:
		for i, p := range d.perfect {
			d.perfect[i] = uint16((int(p) + 1 + d.rng.IntN(arms-1)) % arms)
		}
	}
	return true
}

// Optimum returns the least total mean duration found of a crawl of all sites, each
// from one access point, and that assignment. Without congestion this is every
// site in its perfect access point, and exact. With it, it is the social optimum, to
// which a site counts with the delay that it causes to others: the best of the local optima
// that moving one site at a time reaches from several starts (every site in
// its perfect access point, or by turns, or placed one after another where
// the total grows least). For a handful of sites it can be several per cent above the
// least total; the more sites, the less one of them matters. O(Sites·Arms) for each of a few passes.
func (d *Durations) Optimum() (total float64, assignment []int) {
	starts := []func(i int, p *placement) int{
		func(i int, _ *placement) int { return d.Perfect(i) },
		func(i int, p *placement) int { return p.cheapest(i, math.Inf(1)) },
		func(i int, _ *placement) int { return i % d.cfg.Arms },
	}
	if d.cfg.Congestion == 0 {
		starts = starts[:1]
	}
	total = math.Inf(1)
	for _, start := range starts {
		p := placement{d: d, at: make([]int, d.Len()), load: make([]int, d.cfg.Arms), work: make([]float64, d.cfg.Arms)}
		for i := range p.at {
			p.add(i, start(i, &p))
		}
		for moved := d.cfg.Congestion > 0; moved; {
			moved = false
			for i, from := range p.at {
				before := p.cost(from)
				p.remove(i)
				// A gain beyond rounding, so that the passes end.
				best := p.cheapest(i, (before-p.cost(from))*(1-1e-9))
				if best < 0 {
					best = from
				}
				p.add(i, best)
				moved = moved || best != from
			}
		}
		if t := p.total(); t < total {
			total, assignment = t, p.at
		}
	}
	return total, assignment
}

// A placement is an assignment under construction.
type placement struct {
	d    *Durations
	at   []int
	load []int
	work []float64 // total of the mean durations without load
}

func (p *placement) add(i, arm int) {
	p.at[i] = arm
	p.load[arm]++
	p.work[arm] += p.d.alone(i, arm)
}

func (p *placement) remove(i int) {
	p.load[p.at[i]]--
	p.work[p.at[i]] -= p.d.alone(i, p.at[i])
}

// cost is the total mean duration from an arm.
func (p *placement) cost(arm int) float64 { return p.d.slowdown(arm, p.load[arm]) * p.work[arm] }

func (p *placement) total() (t float64) {
	for arm := range p.load {
		t += p.cost(arm)
	}
	return t
}

// cheapest returns the arm where adding a site adds least to the total, or -1 if none adds less
// than a limit.
func (p *placement) cheapest(i int, limit float64) int {
	best := -1
	for arm := range p.load {
		more := p.d.slowdown(arm, p.load[arm]+1)*(p.work[arm]+p.d.alone(i, arm)) - p.cost(arm)
		if more < limit {
			best, limit = arm, more
		}
	}
	return best
}
