package knapsack

import (
	"github.com/recrawl/recrawl/internal/ablation"
	"github.com/recrawl/recrawl/knapsack/internal/belief"
	"github.com/recrawl/recrawl/knapsack/internal/factor"
	"github.com/recrawl/recrawl/knapsack/internal/fast"
	"github.com/recrawl/recrawl/knapsack/internal/queue"
)

// What pages have in common at present: all pages, and those of a group. The evidence of a group is
// judged against what that of all pages makes one expect.
const (
	ofAll = iota
	ofGroup
)

// newLevels returns the strengths that evidence may have, in changes. They were chosen on four
// recorded histories. All pages need a weak one, as what they have in common comes and goes; a
// group of a few pages overreacts with it.
func newLevels() [2]factor.Level {
	return [2]factor.Level{ofAll: factor.NewLevel(8, 2, 0.5), ofGroup: factor.NewLevel(8, 2)}
}

const (
	// leastOfAll is the least factor of all pages that counts for pages of a group, but under
	// Detections: where pages change folder by folder, all of them are quiet most of the time, and
	// that says little of the next folder. 0.3 was chosen out of 0, 0.3 and 1 on three recorded
	// histories at their usual budgets: on one of them copies are 2 % staler with 1. With other
	// seeds, four histories and three budgets each, copies are 2.9 % less stale than with 0, and
	// delays 2.1 % shorter: 12 and 9 % on curl, and nothing elsewhere. It comes with the first
	// cycles: until then the factor tells mostly how much too quick new pages were taken to be, and
	// with the whole bound a poll of 10⁷ pages computes half as many indices more.
	leastOfAll = 0.3
	// leastSurvival bounds how many changes a poll may be worth that was sure to find one.
	leastSurvival = 1e-3
	// The evidence of a group of n pages has n/pagesPerKnot knots of 24 bytes: 6 in one of 32 pages
	// are 4.5 of the 16 bytes a page that belong to the group (TestMemory). In
	// TestGroupsOfNeighbours, groups of 12 pages gain 9 % with 4 knots, 17 % with 6, 18 % with 8,
	// 20 % with 12 and 21 % with 192. On four recorded histories 8 for groups of up to 64 pages, and more
	// for larger ones, find as much.
	mostKnots, leastKnots, pagesPerKnot = 192, 6, 12
)

// neighbours returns the factor of a group, nil if it has fewer than two pages or nothing is known
// of it.
func (f *RateFilter) neighbours(group uint32) *factor.Factor {
	if !f.related(group) {
		return nil
	}
	return f.factorOf(group)
}

// groupOf returns the group by which a page is judged, None if there is none. The pages of a group that
// was removed stay in its slot, and in its part of the queue, until they are put elsewhere.
func (f *RateFilter) groupOf(slot uint32) uint32 {
	if g := f.queue.Group(slot); g != queue.None && !f.limits.Removed(g) {
		return g
	}
	return queue.None
}

// related reports whether the pages of a group, None for those in no group, have neighbours.
func (f *RateFilter) related(group uint32) bool {
	return group != queue.None && f.limits.Pages(group) >= 2 && f.without&ablation.Neighbours == 0
}

// A kin is what is known of the pages of a group.
type kin struct {
	factor.Standing
	factor uint32 // its place among the factors, counted from 1; 0 if it never had one
}

// factorOf returns the factor of a group, nil if nothing is known of it.
func (f *RateFilter) factorOf(group uint32) *factor.Factor {
	if at := f.kin.At(group).factor; at > 0 && f.factors.At(at-1).Known() {
		return f.factors.At(at - 1)
	}
	return nil
}

// know gives a group a factor of which nothing is known.
func (f *RateFilter) know(group uint32) *factor.Factor {
	at := &f.kin.At(group).factor
	if *at == 0 {
		*at = f.factors.Add(factor.Factor{}) + 1
	}
	return f.factors.At(*at - 1)
}

// forget lets nothing be known of a group in a slot that is used again.
func (f *RateFilter) forget(group uint32) {
	if at := f.kin.At(group).factor; at > 0 {
		*f.factors.At(at - 1) = factor.Factor{}
	}
}

// compare takes in a finding about a page, whose rates had the given probabilities, and returns by how
// much more the page was taken to have changed in the gap than it is used to, and the probability that
// an edit of many pages had changed it.
func (f *RateFilter) compare(x finding, rates *belief.Row) (m, edited float64) {
	p := evidence{RateFilter: f, finding: x, rates: rates, times: 1}
	y := f.youth(x.slot, x.from, x.gap())
	if f.objective != Detections {
		p.times = fast.Exp(f.more(past{touched: f.touched.has(x.slot), youth: y}))
	}
	p.times = y.counting(p.times)
	group := f.queue.Group(x.slot)
	m = 1
	if f.hasCommon() {
		m = p.learn(&f.common, &f.levels[ofAll], 1, f.apart(group, x.from), f.ids.Len())
	}
	if !f.related(group) {
		return m, p.edited
	}
	g := f.factorOf(group)
	if g == nil {
		g = f.know(group)
		*g = factor.New(&f.levels[ofGroup])
	}
	base := f.inGroup(m)
	m = f.seasoned(p.learn(g, &f.levels[ofGroup], base, 1, f.limits.Pages(group)), base)
	return m, p.edited
}

// apart returns by how much more the pages of a group have changed since a time than all pages have,
// as far as is known already: that is no evidence of what all pages do, and ten pages of a folder
// found changed are not ten signs that all others did. Detections gains nothing by it: 1.001 ± .003
// on four recorded histories.
func (f *RateFilter) apart(group uint32, from float64) float64 {
	kin := f.neighbours(group)
	if kin == nil || !f.followsEdits() {
		return 1
	}
	all, _ := f.common.Mean(&f.levels[ofAll], from, 1, 1)
	m, _ := kin.Mean(&f.levels[ofGroup], from, all, f.usual.Times())
	return m / all
}

// inGroup returns what the factor of all pages counts as for pages of a group.
func (f *RateFilter) inGroup(ofAll float64) float64 {
	if f.objective == Detections {
		return ofAll
	}
	return max(leastOfAll*(1-f.fade()), ofAll)
}

// seasoned returns the factor of a group as far as it counts, where that of all pages counts as base. In the first
// cycles it tells, as base does, mostly how much too quick new pages were taken to be, and that is so of all groups.
// In two generated histories of news with groups at random copies are 1.0 % staler otherwise, and delays 2.4 %
// longer. Where groups have much in common and there are few polls of a page, it costs: .6 % of the staleness, .8 %
// of the delay and .4 % of the detections on seven histories of files that change at releases (3, 13 and 52 polls a
// page). With fade in place of its square it gains .2 and .8 % more on the news, and costs twice as much there.
func (f *RateFilter) seasoned(m, base float64) float64 {
	fade := f.fade()
	return base + float64((1-float64(fade*fade))*(m-base))
}

// leaning returns by what the prior of a page differs from that of all pages, as the others of its
// group change more often or less.
func (f *RateFilter) leaning(slot uint32) *belief.Row {
	g := f.groupOf(slot)
	if g == queue.None || f.without&ablation.Likeness != 0 {
		return belief.Level()
	}
	_, variance := f.census.Prior.Moments()
	return belief.Leaning(f.likeness.Lean(&f.kin.At(g).Standing, f.marks[slot]), variance)
}

// mark notes for its group what is known of a page, with a belief under the prior of all pages.
func (f *RateFilter) mark(slot uint32, informed *belief.Belief) {
	if f.marks == nil {
		return
	}
	mean, variance := informed.Moments()
	meanOfAll, varianceOfAll := f.census.Prior.Moments()
	mark := factor.MarkOf(1-variance/varianceOfAll, (mean-meanOfAll)*belief.Step)
	if g := f.queue.Group(slot); g != queue.None {
		kin := f.kin.At(g)
		kin.Drop(f.marks[slot])
		kin.Add(mark)
		if !f.limits.Removed(g) {
			f.likeness.Learn(&kin.Standing, mark, f.ids.Len())
		}
	}
	f.setMark(slot, mark)
}

func (f *RateFilter) setMark(slot uint32, m factor.Mark) {
	f.likeness.Replace(f.marks[slot], m)
	f.marks[slot] = m
}

// markAnew is mark for a belief that was not learnt just now.
func (f *RateFilter) markAnew(slot uint32) {
	if f.marks != nil && !f.beliefs[slot].Blank() {
		var b belief.Belief
		f.model.Unpack(&f.beliefs[slot], &b)
		b = f.informed(b)
		f.mark(slot, &b)
	}
}

// evidence is what a finding tells of what pages have in common.
type evidence struct {
	*RateFilter
	finding finding
	rates   *belief.Row // probabilities before
	// times is how many times as much as its rates say a page changes: what is so at all times is no evidence
	// of what pages have in common at present. Under Detections that finds .997 as much on four recorded
	// histories at three budgets, and .990 with groups (two runs), and is left out.
	times  float64
	edited float64 // probability that an edit of many pages changed the page, as far as known
}

// learn takes the finding in as evidence of so many pages, in which the page is known to have changed
// apart times as much as they, and returns the factor before it. Where there are more pages than need
// be, part of the polls will do.
func (p *evidence) learn(to *factor.Factor, l *factor.Level, base, apart float64, pages int) (m float64) {
	usual := 1.0
	if to != &p.common {
		usual = p.usual.Times()
	}
	each, edits := to.Each(l, p.finding.from, base, usual)
	m = to.Average(l, &each)
	others := p.edited
	p.edited = either(others, to.Edited(edits))
	if p.answers%oneOf(pages) != 0 {
		return m
	}
	if to == &p.common {
		clear(p.known[:])
		p.passed.Forget()
	}
	alone := max(leastSurvival, p.survival(apart))
	var likelihood factor.Mix
	for k, x := range each {
		stay := alone
		if x != 1 {
			stay = p.survival(x * apart)
		}
		stay *= 1 - p.edited
		if p.finding.changed {
			stay = 1 - stay
		}
		likelihood[k] = stay
	}
	to.Learn(l, &likelihood)
	if p.followsEdits() {
		stay := (1 - others) * max(leastSurvival, p.survival(m*apart))
		to.Edit(l, p.finding.from, p.finding.now, stay, p.finding.changed, p.model.Cycle())
	}
	found, expected := p.counts(alone*max(leastSurvival, 1-p.edited), to != &p.common)
	most := mostKnots
	if to != &p.common {
		most = min(mostKnots, max(leastKnots, pages/pagesPerKnot))
		p.usual.Learn(found, expected, p.ids.Len())
	}
	to.Add(p.finding.from, p.finding.now, found, expected, p.model.Cycle(), most)
	return m
}

// oneOf returns one of how many polls is evidence of what so many pages have in common.
func oneOf(pages int) uint64 { return uint64(1 + pages/factor.MostPolls) }

// survival returns the probability of no change by the page itself, if it changes so many times as
// often as it is used to.
func (p *evidence) survival(times float64) float64 {
	return p.model.Survival(p.rates, p.finding.gap()*times*p.times)
}

// counts returns the changes found and expected, where stay is the probability of none. For all
// pages these are polls that find one. For groups, whose pages often change many times in a gap, they
// are the changes that there were, of which a poll tells one: −ln(stay), over 1 − stay where there
// was one. On four recorded histories that is better by 0.3 %, and worse by that for all pages.
func (p *evidence) counts(stay float64, all bool) (found, expected float64) {
	expected = 1 - stay
	if all {
		expected = -fast.Log(stay)
	}
	if p.finding.changed {
		found = expected / (1 - stay)
	}
	return found, expected
}

// either is the probability of one or both of two things.
func either(p, q float64) float64 { return p + float64((1-p)*q) }

// fadeCycles is after how many cycles half is left of what is done in the first few only. It is about how
// long it takes until most pages are judged by what they did themselves. It was not swept.
const fadeCycles = 3

// fade is the part that is left of what is done in the first few cycles only: 1 to begin with.
func (f *RateFilter) fade() float64 {
	polls, pages := f.meter.Polls(), f.ids.Len()
	if k := &f.faded; k.left == 0 || k.polls != polls || k.pages != pages {
		cycles := float64(polls) / float64(max(1, pages))
		*k = faded{polls, pages, 1 / (1 + cycles*cycles/(fadeCycles*fadeCycles))}
	}
	return f.faded.left
}

// faded is what fade returned last, of how many polls and pages; each index asks for it.
type faded struct {
	polls uint64
	pages int
	left  float64
}

// vote lets a page that comes or goes count in the prior.
func (f *RateFilter) vote(slot int, sign int) {
	votes := f.census.Votes(uint32(slot))
	if votes == 0 {
		return
	}
	var b, none belief.Belief
	f.model.Unpack(&f.beliefs[slot], &b)
	b = f.informed(b)
	if sign > 0 {
		f.census.Prior.Vote(&none, &b, votes)
	} else {
		f.census.Prior.Vote(&b, &none, votes)
	}
}

// bits is a set of slots.
type bits []uint64

func newBits(n int) bits { return make(bits, (n+63)/64) }

func (b *bits) grow(n int) {
	for len(*b) < (n+63)/64 {
		*b = append(*b, 0)
	}
}

func (b bits) has(slot uint32) bool { return b[slot/64]>>(slot%64)&1 != 0 }

func (b bits) set(slot uint32, on bool) {
	b[slot/64] &^= 1 << (slot % 64)
	if on {
		b[slot/64] |= 1 << (slot % 64)
	}
}
