package knapsack

import (
	"math"

	"github.com/recrawl/recrawl/internal/ablation"
	"github.com/recrawl/recrawl/knapsack/internal/belief"
	"github.com/recrawl/recrawl/knapsack/internal/fast"
	"github.com/recrawl/recrawl/knapsack/internal/hints"
	"github.com/recrawl/recrawl/knapsack/internal/queue"
)

// How Next finds the page with the greatest index among all without looking at all is up to the
// queue; here is what the index is.
const (
	// pricePace is by how much of the distance, in log, the price moves to the index of the page
	// chosen: it averages over 100 polls.
	pricePace = 0.01
	// courtesy: so large a part of the budget goes to pages of which patience is over, if there are any,
	// whatever their indices. It makes the bound on starvation hold. tardySteps pages are judged for
	// that at each Next, of the slots that there are for one page, up to mostFree.
	courtesy   = 16
	tardySteps = 8
	mostFree   = 64
	// patience is after how many cycles without an answer a page is polled whatever its index: a page of
	// the slowest rate for Detections changes once in that time, see slowest. With courtesy it makes the
	// guarantee of 81·n polls (TestRateFilterStarvesNoPage). It was not swept.
	patience = 64
	// worthwhile is the gain from which on pages are not polled in turn. On pages that all change
	// alike the estimate stays below it (TestRateFilterOnCalmHistories). Where many change at once,
	// more can be gained than the estimate says: with 0.02 the filter detects .987 as much with folders, and
	// .996 without, of the changes of files in seven Go modules from version to version, at three budgets (two
	// runs), and .997 and 1.001 in seven others (one run). Never to poll in turn is as good there, but finds
	// 1.5 % less of equal pages.
	worthwhile = 0.005
	// Edits of many pages count in what a poll is worth as far as they are likelier than
	// hardlyEdited: where pages change one by one they seem to be as likely as .15 at times, and
	// indices move with that. With .06 what Next picks among 6000 pages is worth .96 of the best, and
	// with .2 .99; on four recorded histories copies are as fresh with one as with the other. They
	// move due times by editedCycles cycles for an edit that is sure; with 12 in place of 4 the
	// delays of a recorded history and of a simulated one are the same but for chance. Those of pages in
	// no group move as far as the edit is likelier than passing: what passes soon would leave pages due too
	// late that are looked at meanwhile. With 0 what Next picks of 20,000 pages that change one by one is
	// worth .965 of the best under Delay in the last of ten cycles, and .99 so; but in groups, where edits
	// are, .971 in place of .975 (1500 pages, four webs of mass edits). stalesBack is
	// how often in a cycle a page becomes stale otherwise than by its own rate, by such edits and as
	// rates jump.
	hardlyEdited, editedCycles, passing, stalesBack = 0.2, 4, 0.1, 0.4
	// hopeless is by how much less untouched pages change than others, in log, where they are hopeless: see hope.
	hopeless = 2
)

// inTurn reports whether pages are polled in turn: see Hedge in the comment of the type.
// Weights, costs and hints that tell pages apart are reasons not to.
func (f *RateFilter) inTurn() bool {
	return f.without&ablation.Hedge == 0 && f.census.Hedge.Gain() < worthwhile && f.meter.Polls() >= uint64(len(f.polled)) &&
		f.weights == nil && f.costs == nil && !f.hints.Telling()
}

func (f *RateFilter) weight(slot uint32) float64 {
	if f.weights == nil {
		return 1
	}
	return f.weights[slot]
}

// forQueue answers what the queue asks about pages: how fast time passes for them, and their indices.
type forQueue struct{ *RateFilter }

var _ queue.Pages = forQueue{}

// Last implements queue.Clock.
func (q forQueue) Last(slot uint32) float64 { return q.last(slot) }

// Touch implements queue.Clock.
func (q forQueue) Touch(slot uint32) (sum float64) {
	return q.polled[slot] + float64(q.beliefs[slot].Touch()) + float64(q.changed[slot/64]&1)
}

// Multiplier implements queue.Clock. What an edit of many pages makes a poll worth comes at once and
// hardly grows with time; so that the queue looks at such pages soon, it counts as some cycles more.
func (q forQueue) Multiplier(group uint32, last float64) float64 {
	m, edited := q.pulse(group, last)
	if group == queue.None {
		edited -= passing
	}
	if edited > 0 && q.now > last {
		m += edited * editedCycles * q.model.Cycle() / (q.now - last)
	}
	return m
}

// hasCommon reports whether what all pages have in common counts. Under Detections most polls of
// pages of unequal costs or weights are of the cheap or heavy ones that look best, and found changed less often
// than expected. That says little of the others; taken for evidence of all pages it halves the changes
// found in 2 of 10 runs of TestSetCost, and most pages of TestWeightsStarveNoPage are never polled.
func (f *RateFilter) hasCommon() bool {
	return f.without&ablation.Common == 0 && (f.objective != Detections || f.costs == nil && f.weights == nil)
}

// pulse returns by how much more than they are used to the pages of a group, None for those in no group,
// have changed since a time, and the probability that an edit of many pages has changed one of them since,
// as far as it counts.
func (f *RateFilter) pulse(group uint32, last float64) (m, edited float64) {
	all, kin := multiplier{m: 1}, f.neighbours(group)
	if f.hasCommon() {
		all = f.together(last)
	}
	m, edits := all.m, 0.0
	if kin != nil {
		base := f.inGroup(m)
		m, edits = kin.Mean(&f.levels[ofGroup], last, base, f.usual.Times())
		m = f.seasoned(m, base)
	}
	if !f.followsEdits() {
		return m, 0
	}
	most := f.common.MostEdited(all.edits)
	if kin != nil {
		most = either(most, kin.MostEdited(edits))
	}
	if most <= hardlyEdited {
		return m, 0
	}
	edited = f.common.Edited(all.edits)
	if kin != nil {
		edited = either(edited, kin.Edited(edits))
	}
	return m, max(0, edited-hardlyEdited) / (1 - hardlyEdited)
}

// A multiplier is by how much more than they are used to all pages have changed since a time, 0 if that
// is not known, the same by factor.Passed or 0, and how many edits of many pages are to be expected since.
type multiplier struct{ last, m, rising, edits float64 }

// logKnown is the logarithm, to base 2, of how many multipliers are kept between two answers: in a call
// of Next a few times are asked about, each more than once.
const logKnown = 4

// together returns the multiplier since a time. In the first cycles it is the rising one: pages that were never
// polled go before those that were.
func (f *RateFilter) together(last float64) multiplier {
	k := &f.known[math.Float64bits(last)*fast.Golden>>(64-logKnown)]
	if k.m == 0 || k.last != last {
		m, edits := f.common.Mean(&f.levels[ofAll], last, 1, 1)
		*k = multiplier{last: last, m: m, edits: edits}
	}
	all := *k
	if part := (f.fade() - leastFade) / (1 - leastFade); part > 0 {
		if k.rising == 0 {
			if !f.passed.Known() {
				f.passed.Follow(&f.common, &f.levels[ofAll])
			}
			k.rising = f.passed.Times(&f.common, last, k.m)
		}
		all.m += float64(part * (k.rising - k.m))
	}
	return all
}

// leastFade is where together leaves out what is left of the first cycles, as it takes time: after 15 cycles.
const leastFade = 0.04

// followsEdits reports whether edits of many pages count. Under Detections they gain nothing: as many
// changes are found in four recorded histories, and fewer where pages change one by one.
func (f *RateFilter) followsEdits() bool {
	return f.objective != Detections && f.without&ablation.Edits == 0
}

// wakes reports whether more is expected of pages that wait, as far as polls of them find more. That is
// so for Delay: see go test ./knapsack -v -run TestPagesThat -exact. When it was added, on eleven recorded and generated
// webs that are not kept, it made the delay 2 to 17 % less in one whose pages wake, up to 6 % less in another one,
// and .04 % longer in the mean of the others, .2 % with groups. Copies that are to be fresh or young are
// no better for it; for Detections see census.Calibration.
func (f *RateFilter) wakes() bool {
	return f.objective == Delay && f.without&ablation.Waking == 0
}

// A past is what is known of a page beside the belief about it: whether it was found changed at its last poll,
// whether it was ever known to change, and how often it did of late, in log and changes a cycle.
type past struct {
	changed, touched bool
	rate             float64
	youth
}

// past returns that of a page in a gap since a time.
func (f *RateFilter) past(slot uint32, from, gap float64) past {
	return past{f.changed.has(slot), f.touched.has(slot), f.rate(slot), f.youth(slot, from, gap)}
}

// more returns the logarithm of how many times as much as is believed of it a page changes, as it was ever known
// to change or not, and for a young page as far as it has settled. Under Detections the calibration tells what is so
// of all pages.
func (f *RateFilter) more(p past) (s float64) {
	if f.objective == Detections {
		s = f.census.Untouched.Shift(p.touched, f.fade())
	} else {
		s = f.census.Untouched.Times(p.touched)
	}
	if p.young {
		s *= p.settled
	}
	return s
}

// bursts returns by which part a page that jumps is taken for one that bursts: one that was never known to
// change, once the first cycles, in which that says little, are over.
func (f *RateFilter) bursts(touched bool) float64 {
	if touched || f.without&ablation.Untouched != 0 {
		return 0
	}
	return 1 - f.fade()
}

// hope returns how far a page is worth trying out: 1 unless it was never known to change, and such pages are found to
// change e^−1 times as often as others or less, beside what was expected of each; 0 from e^−hopeless times on. Without
// hope nothing is added for what a poll teaches, and a page that jumps goes where the rates of all pages are.
// Where 95 and 80 % of 300 pages never change staleness is .70 and .91 of what it is if there is always hope, and age .48
// and .65 (20 polls a page); .97 and .95 where all but 10 % begin to change in the last third. On ten recorded histories
// staleness is the same but for chance: all their pages change less than expected, as u alone would take for no hope.
func (f *RateFilter) hope(touched bool) float64 {
	if touched {
		return 1
	}
	u := &f.census.Untouched
	return max(0, min(1, hopeless+u.Times(false)-u.Times(true)))
}

// mean returns the value of a poll of a page and its standard deviation.
func (f *RateFilter) mean(b *belief.View, gap, counts float64, p past) (value, spread float64) {
	fade, more := f.fade(), f.more(p)
	counts = p.counting(counts)
	switch {
	case f.objective == Detections:
		value, spread = f.model.Value(b, gap, counts, 1, 0, 0)
		value = f.census.Calibration.Correct(value, gap/f.model.Cycle(), p.changed, p.fading(fade), more, f.opinion(p.rate, counts, fade))
	case f.objective == Delay:
		// Pages change less than expected if some rest, of which a poll is worth nothing. That they change more
		// may only mean that each poll finds a change, however many are expected: so it is rates that are greater,
		// of which many changes in a gap count less. Young pages do not rest, they change less and less.
		times := fast.Exp(more)
		rests := 1.0
		if !p.young {
			rests, times = min(1, times), max(1, times)
		}
		times, counts = p.onwards(times, counts)
		value, spread = f.model.Value(b, gap, counts, times, f.bursts(p.touched), 0)
		value *= rests
		if f.wakes() {
			value *= f.census.Waking.Times(gap/f.model.Cycle(), fade)
		}
	default:
		times, counts := p.onwards(fast.Exp(more), counts)
		value, spread = f.model.Value(b, gap, counts, times, 0, 1-f.hope(p.touched))
	}
	return value, spread
}

// value returns the value of a poll with what the poll teaches: standard deviations that are added, or, beside
// it, what a find leads to, whichever makes the index greater. Their sum detects .97 to 1.02 times as much in four
// recorded histories at a quarter of their usual budgets (two runs), and 1.01 times as much where pages wake.
func (f *RateFilter) value(b *belief.View, gap, counts float64, p past) (value, sequel float64) {
	mean, spread := f.mean(b, gap, counts, p)
	if f.objective != Detections {
		return mean + float64(0.5*f.hope(p.touched)*spread), 0
	}
	fade := f.fade()
	// The surer a change is, the less more can be found by knowing better. With .5 + .5·fade for
	// all, .98 to 1 as much is detected in three simulated webs whose rates stay, at three budgets,
	// and in four recorded histories 1.003 as much, or .999 with groups.
	optimism := (0.7 + float64(0.5*fade)) * math.Sqrt(max(0, 1-mean))
	value = mean + float64(optimism*spread)
	if s := &f.census.Sequel; s.Led() {
		sequel = (1 - fade) * s.Worth(mean, gap/f.model.Cycle(), p.touched)
		if f.model.Slope(mean)+sequel > f.model.Slope(value) {
			return mean, sequel
		}
	}
	return value, 0
}

// freshIndex is the index of a page of which nothing is known.
func (f *RateFilter) freshIndex(gap float64) float64 {
	fresh, view := f.model.Fresh(), belief.View{}
	f.model.See(&view, &fresh, belief.Level())
	value, sequel := f.value(&view, gap, gap, past{})
	return f.model.Slope(value) + sequel
}

// A tempo is how a page's time is scaled at present, by the multiplier since its last answer, how
// likely it is that an edit of many pages has changed it since, and what is thought of its rate.
type tempo struct {
	multiplier, edited float64
	view               belief.View
}

// tell sets the tempo to that of a page.
func (t *tempo) tell(f *RateFilter, slot uint32) {
	group, last := f.queue.Group(slot), f.last(slot)
	t.multiplier, t.edited = f.pulse(group, last)
	f.model.See(&t.view, &f.beliefs[slot], f.leaning(slot))
}

// index returns the index of a page, a time gap after its last answer.
func (f *RateFilter) index(slot uint32, gap float64) float64 {
	var t tempo
	t.tell(f, slot)
	return f.indexAt(slot, gap, &t)
}

// indexAt is index for a page whose tempo is known.
func (f *RateFilter) indexAt(slot uint32, gap float64, t *tempo) float64 {
	if !(gap > 0) || math.IsInf(gap, 1) || !f.model.Known() {
		return 0 // the gap is infinite before the first Next
	}
	f.looks++
	counts := gap * t.multiplier
	past := f.past(slot, f.last(slot), gap)
	value, sequel := f.value(&t.view, gap, counts, past)
	if t.edited > 0 {
		value += f.model.Edited(&t.view, gap, counts, t.edited, stalesBack/f.model.Cycle())
	}
	if f.hints.On() {
		value *= f.hinting(slot, gap, past.counting(counts), value)
	}
	index := f.slope(value, past.youth) + sequel
	if f.weights != nil || f.costs != nil {
		switch times := f.weight(slot) / f.cost(slot); {
		case f.weight(slot) == 0 || index == 0:
			index = 0 // also where the other one is infinite
		case times >= leastNormal && times <= math.MaxFloat64:
			index *= times
		default: // too little or too much for a number, where the index may make up for it
			index = index / f.cost(slot) * f.weight(slot)
		}
	}
	return index
}

// leastNormal is the least number that has all its digits.
const leastNormal = 0x1p-1022

// hinting returns how many times as much a poll of a page is worth for the hints about it, and for
// the absence of others, as it is without, which is value.
//
// A page at rate λ that has changed with probability p, however that is known, is worth Gain(p)/λ
// under Freshness, and under Delay N²/(2λ) with N changes waiting: from there on its state moves as
// it always does. Where hints are to be expected of its changes, it moves at the part of the rate
// that there is no hint of. So a value goes with Gain(p), or about with p², over that part. By
// sources that hardly tell pages apart it goes with p: one that is wrong in 9 of 10 hints costs
// Delay 23 % with p², and gains 11 % with p, beside a good one
// (go run ./examples/recrawl -suite -quick -scenarios sitemap -objective delay).
func (f *RateFilter) hinting(slot uint32, gap, counts, value float64) float64 {
	group, spans := f.queue.Group(slot), f.spans(slot, gap)
	if f.objective == Detections {
		return f.hints.Evidence(int(slot), group, spans, value).All
	}
	var b belief.Belief
	f.model.Unpack(&f.beliefs[slot], &b)
	b.Inform(f.census.Prior.Factor())
	rates := b.Marginal(gap / f.model.Cycle())
	chance := max(leastSurvival*leastSurvival, 1-f.model.Survival(&rates, counts))
	e := f.hints.Evidence(int(slot), group, spans, chance)
	more := e.All / e.Telling / e.Silent
	if f.objective == Delay {
		return e.Telling * e.Telling * more
	}
	return belief.Gain(chance*e.Telling) / belief.Gain(chance) * more
}

// spans returns what hints are judged by, of a poll a time gap after the last answer.
func (f *RateFilter) spans(slot uint32, gap float64) hints.Spans {
	last := f.last(slot)
	return hints.Spans{Last: last, Now: last + gap, Cycle: f.model.Cycle()}
}

// Index implements queue.Pages.
func (q forQueue) Index(slot uint32, now float64) float64 { return q.index(slot, now-q.last(slot)) }
