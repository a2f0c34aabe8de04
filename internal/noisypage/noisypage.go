// Package noisypage writes synthetic web pages that change by themselves, with the truth about
// which of their changes are real, and counts what a detector makes of them.
package noisypage

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// A Noise is what changes by itself in a page.
type Noise struct {
	Name  string
	write func(p *Page)
}

// Noises are the kinds of noise, the first of them none. Of some, the page is edited in place: a
// price changes, where otherwise paragraphs do. Of others items are added.
func Noises() []Noise {
	token := func(p *Page) { p.token = true }
	nonce := func(p *Page) { p.noise = fmt.Sprintf("<p>Request <code>%016x</code></p>", p.rng.Uint64()) }
	return []Noise{
		{"none", func(*Page) {}},
		{"attributes and scripts at every poll", token},
		{"nonce at every poll", nonce},
		{"clock at half of the polls", func(p *Page) {
			if p.polls == 1 || p.rng.IntN(2) == 0 {
				p.minutes += 1 + p.rng.IntN(300)
				p.noise = fmt.Sprintf("<p>Server time %d:%02d</p>", p.minutes/60, p.minutes%60)
			}
		}},
		{"rotating advertisements, 5", func(p *Page) { p.advertise(5) }},
		{"rotating advertisements, 50", func(p *Page) { p.advertise(50) }},
		{"x minutes ago", func(p *Page) { p.noise = fmt.Sprintf("<p>Updated %d minutes ago</p>", 1+p.rng.IntN(59)) }},
		{"date in the footer at every poll", func(p *Page) { p.foot = fmt.Sprintf("Day %d", p.polls) }},
		{"clock, in a cache for 3 polls", func(p *Page) { p.cache(3) }},
		{"clock, in a cache for 8 polls", func(p *Page) { p.cache(8) }},
		{"none, edited in place", func(p *Page) { p.shop() }},
		{"attributes and scripts, edited in place", func(p *Page) { token(p); p.shop() }},
		{"nonce at every poll, edited in place", func(p *Page) { nonce(p); p.shop() }},
		{"five of 40 links", func(p *Page) { p.link(5, 40) }},
		{"fifteen of 100 links", func(p *Page) { p.link(15, 100) }},
		{"one of 40 teasers in each of 4 places", func(p *Page) { p.tease(4, 40, 1) }},
		{"one of 20 advertisements or none in each of 3 places", func(p *Page) { p.tease(3, 20, 0.75) }},
		{"a counter at each of 15 items, new items", func(p *Page) { p.list(0.5, "<div>%d comments</div>") }},
		{"the age of each of 15 items, new items", func(p *Page) { p.list(0.25, "<p><time>%d hours ago</time></p>") }},
	}
}

// A Page is a page with one kind of noise.
type Page struct {
	noises     []Noise
	rng        *rand.Rand
	polls      int
	paragraphs []string
	place      int // the paragraph before which the noise stands
	noise      string
	foot       string
	token      bool
	minutes    int
	ads        []string
	price      int     // edits change it and nothing else, unless it is 0
	items      []*item // edits add one at the top and remove the last, if there are any
}

// An item has a number that grows.
type item struct {
	title  string
	number int
}

// New returns a page with the given noises.
func New(src rand.Source, noises ...Noise) *Page {
	p := &Page{noises: noises, rng: rand.New(src), foot: "All rights reserved"}
	for range 12 + p.rng.IntN(20) {
		p.paragraphs = append(p.paragraphs, p.sentence())
	}
	p.place = p.rng.IntN(len(p.paragraphs))
	return p
}

const syllables = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu"

// sentence returns a text that did not occur before.
func (p *Page) sentence() string {
	parts := strings.Fields(syllables)
	var b strings.Builder
	for word := range 6 + p.rng.IntN(14) {
		if word > 0 {
			b.WriteByte(' ')
		}
		for range 1 + p.rng.IntN(4) {
			b.WriteString(parts[p.rng.IntN(len(parts))])
		}
	}
	return b.String()
}

func (p *Page) advertise(n int) { p.noise = "<div class=x><p>" + p.ad(n) + "</p></div>" }

// ad returns one of n advertisements.
func (p *Page) ad(n int) string { return p.all(n)[p.rng.IntN(n)] }

// all returns n advertisements.
func (p *Page) all(n int) []string {
	for len(p.ads) < n {
		p.ads = append(p.ads, p.sentence())
	}
	return p.ads
}

// link writes a list of some of n links.
func (p *Page) link(some, n int) {
	var b strings.Builder
	b.WriteString("<h4>See also</h4><ul>")
	for _, i := range p.rng.Perm(n)[:some] {
		fmt.Fprintf(&b, "<li><a href=/%d>%s</a>", i, p.all(n)[i])
	}
	p.noise = b.String() + "</ul>"
}

// tease fills each of some places, with a probability, with one of n advertisements.
func (p *Page) tease(places, n int, filled float64) {
	var b strings.Builder
	for k := range places {
		fmt.Fprintf(&b, "<h4>Partner %d</h4>", k+1)
		if p.rng.Float64() < filled {
			fmt.Fprintf(&b, "<div><p>%s</p></div>", p.ad(n))
		}
	}
	p.noise = b.String()
}

// cache renews a clock at every so many polls.
func (p *Page) cache(polls int) {
	if p.polls%polls == 1 {
		p.noise = fmt.Sprintf("<p>Server time %d:%02d</p>", p.polls/60, p.polls%60)
	}
}

// list writes items, of which each number grows with a probability.
func (p *Page) list(grows float64, number string) {
	for len(p.items) < 15 {
		p.items = append(p.items, &item{p.sentence(), p.rng.IntN(9)})
	}
	var b strings.Builder
	for _, it := range p.items {
		if p.rng.Float64() < grows {
			it.number++
		}
		fmt.Fprintf(&b, "<article><h3><a href=/>%s</a></h3>"+number+"</article>\n", it.title, it.number)
	}
	p.noise = b.String()
}

// shop puts a price on the page.
func (p *Page) shop() {
	if p.price == 0 {
		p.price = 100
	}
}

// Edit makes a real change: a paragraph is rewritten, added or removed, the price rises, or there is a new
// item.
func (p *Page) Edit() {
	if n := len(p.items); n > 0 {
		p.items = slices.Insert(p.items[:n-1], 0, &item{title: p.sentence()})
		return
	}
	if p.price > 0 {
		p.price += 1 + p.rng.IntN(9)
		return
	}
	at := p.rng.IntN(len(p.paragraphs))
	switch kind := p.rng.IntN(4); {
	case kind == 0:
		p.paragraphs = slices.Insert(p.paragraphs, at, p.sentence())
	case kind == 1 && len(p.paragraphs) > 8:
		p.paragraphs = slices.Delete(p.paragraphs, at, at+1)
	default:
		p.paragraphs[at] = p.sentence()
	}
}

// Poll returns a copy of the page, with its noise renewed.
func (p *Page) Poll() []byte {
	p.polls++
	for _, n := range p.noises {
		n.write(p)
	}
	var b strings.Builder
	b.WriteString("<!DOCTYPE html><html><head><title>A page</title>")
	if p.token {
		fmt.Fprintf(&b, "<script>var t = %q</script><meta name=csrf content=%016x>", fmt.Sprint(p.rng.Uint64()), p.rng.Uint64())
	}
	b.WriteString("</head><body><nav><ul><li><a href=/>Home</a><li><a href=/news>News</a><li><a href=/about>About</a></ul></nav>\n<h1>A page</h1>\n")
	for i, text := range p.paragraphs {
		if i == p.place {
			b.WriteString(p.noise)
		}
		fmt.Fprintf(&b, "<p>%s</p>\n", text)
		if p.price > 0 && i == (p.place+len(p.paragraphs)/2)%len(p.paragraphs) {
			fmt.Fprintf(&b, "<p>Price: $%d.99</p>\n", p.price)
		}
	}
	fmt.Fprintf(&b, "<footer><p>%s</p></footer></body></html>\n", p.foot)
	return []byte(b.String())
}

// A Detector says, of one copy after the other, whether the page changed.
type Detector func(body []byte) (changed bool)

// Raw returns a detector that compares the bytes.
func Raw(*Page) Detector { return compare(func(body []byte) string { return string(body) }) }

var (
	markup = regexp.MustCompile(`(?s)<script.*?</script>|<[^>]*>`)
	signs  = regexp.MustCompile(`[^\pL\pN]+`)
)

// Text returns a detector that compares the letters and digits outside tags and scripts.
func Text(*Page) Detector {
	return compare(func(body []byte) string { return string(Letters(body)) })
}

// Letters returns the letters and digits of a page outside tags and scripts.
func Letters(body []byte) []byte {
	return signs.ReplaceAll(markup.ReplaceAll(body, []byte(" ")), nil)
}

// compare returns a detector that compares something of each copy with that of the copy before.
func compare(of func([]byte) string) Detector {
	var before string
	return func(body []byte) bool {
		now := of(body)
		changed := now != before
		before = now
		return changed
	}
}

// A Count is what a detector made of a number of polls. The first of each page is not among
// them.
type Count struct {
	Polls, False    int // without a real change, and with one reported
	Early           int // of the latter, those among the first six of their page
	Changes, Missed int // real ones, and not reported
}

// FalseShare returns the share of the polls without a change at which one was reported.
func (c Count) FalseShare() float64 { return float64(c.False) / float64(max(1, c.Polls)) }

// MissedShare returns the share of the changes that were not reported.
func (c Count) MissedShare() float64 { return float64(c.Missed) / float64(max(1, c.Changes)) }

// Sizes of a measurement: those of examples/fingerprint.
const (
	Pages = 48
	Polls = 40

	learning = 6 // polls after which noise should be known
)

// Measure polls [Pages] pages [Polls] times each and counts. Real changes come with the given
// probability before each poll. start is called for each page; it may take copies itself.
func Measure(seed uint64, edits float64, start func(p *Page) Detector, noises ...Noise) (c Count) {
	for page := range Pages {
		p := New(rand.NewPCG(seed, uint64(page)), noises...)
		truth := rand.New(rand.NewPCG(seed+1, uint64(page)))
		detect := start(p)
		detect(p.Poll())
		for poll := range Polls - 1 {
			edited := truth.Float64() < edits
			if edited {
				p.Edit()
			}
			found := detect(p.Poll())
			switch {
			case edited:
				c.Changes++
				if !found {
					c.Missed++
				}
			default:
				c.Polls++
				if found {
					c.False++
					if poll < learning {
						c.Early++
					}
				}
			}
		}
	}
	return c
}
