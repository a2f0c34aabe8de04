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
// queue; here is what it asks.
const (
	// pricePace is by how much of the distance, in log, the price moves to the index of the page
	// chosen: it averages over 100 polls.
	pricePace = 0.01
	// What is thought of all pages moves, and so do their indices. A sweep over all pages looks at
	// fewSweep of them at each Next, and at newSweep more in the first cycles. It finds those that are
	// late: above lateBy times the level by the time that the queue looks at them. The more of the pages
	// are late, by an average over lateOver of them, the more it looks at: sweepMore more if all are, but
	// mostSweep at most. A small web is swept faster, smallSweep pages in as many calls as there are
	// pages: with 6000 pages what Next picks under Detections is worth .970 of the best with 2 at each
	// call, .982 with 10, .987 with 20 and with 40 (three seeds of TestRateFilterIsNearlyExact).
	fewSweep, newSweep, mostSweep, smallSweep = 2, 2.9, 32, 120_000
	sweepMore, lateBy, lateOver               = 8, 1.01, 64
	// courtesy: every so many polls one goes to a page of which patience is over, if there is any,
	// whatever its index. It makes the bound on starvation hold. tardySteps pages are judged for
	// that at each Next.
	courtesy   = 16
	tardySteps = 8
	// worthwhile is the gain from which on pages are not polled in turn. On pages that all change
	// alike the estimate stays below it (TestRateFilterOnCalmHistories). 0.1 was found to lose
	// on histories whose pages differ little, and to gain where many change at once.
	worthwhile = 0.02
	// usualSlope is the power of the gap that an index grows with, about; leastSlope and mostSlope
	// bound it. leastStep and mostStep bound how much longer a gap is looked at next, in nats: factors
	// of 1.02 and 3. nearEnough is the part of a level at which an index tells when it will reach it. From
	// nearly on it does so by usualSlope, but for Detections: where a change is almost sure an index grows
	// with the power 0.3 of the gap, and a page was looked at 6 times before it was polled.
	usualSlope, leastSlope, mostSlope = 1.4, 0.3, 3
	leastStep, mostStep               = 0.0198026273, 1.0986122887
	nearEnough, nearly                = 0.8, 0.9
	// early is the part of the time to when a page seems to be due after which it is looked at
	// again, where that is hardly known, and first the part after its last answer. hasty is by what part
	// of the time left it is too early where that is as long as the gap.
	early, first, hasty = 0.9, 0.9, 0.2
	// In the first cycles the level, and indices by what is thought of all pages, drift like a random walk,
	// by drift nats in a cycle. A page that is so far below the level is looked at again, at the soonest
	// after that part of a cycle: one that is almost sure to have changed hardly grows, and would
	// be above the level unseen until the sweep comes to it. Of more than manyPages each counts for
	// less, and is looked at less often for that.
	drift, soonest, manyPages = 0.8, 0.015, 15_000
	// hintStep is after how much of a cycle a page with a hint is looked at again.
	hintStep = 1.0 / 32
	// dueSteps is how many steps of the secant rule find the time at which a page is due. Where the index
	// grows by more than the factor steep between two looks there is one at least: that of a page in a
	// burst of changes grows from an eighth of the level to four times that in 40 polls of 20,000 pages,
	// and is then as great as an index can be. Such pages were found some polls late. Once there are hints
	// of any page, which move indices by steps, that is left out: delays of a recorded history are 15 %
	// longer with it.
	dueSteps, steep = 4, math.E
	// Edits of many pages count in what a poll is worth as far as they are likelier than hardlyEdited:
	// where pages change one by one they seem to be as likely as .15 at times, and indices move with
	// that. With .06 what Next picks among 6000 pages is worth .96 of the best, and with .2 .99; on four
	// recorded histories copies are as fresh with one as with the other. They move due times by
	// editedCycles cycles for an edit that is sure; with 12 in place of 4 the delays of a recorded history
	// and of a simulated one are the same but for chance. stalesBack is how often in a cycle a page becomes stale otherwise
	// than by its own rate, by such edits and as rates jump.
	hardlyEdited, editedCycles, stalesBack = 0.2, 4, 0.4
	// Under Detections a probability and what a poll teaches may be more than 1 together, where the
	// slope ends and such pages would be alike. In the first nine cycles, while more than ended is left of
	// what fades, the index grows by aboveSure times that beyond 1: at a quarter of its budget one of
	// four recorded histories finds 1.8 % more so, and else as much is found. Without an end .5 % less
	// is found there at the usual budget.
	aboveSure, ended = 0.2, 0.1
	// shortestDue is the least due time, as a part of the longest.
	shortestDue = 1e-9
	// mostDoublings is how many doublings a leap is at most.
	mostDoublings = 16
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

// A clock tells the queue how fast time passes for pages.
type clock struct{ *RateFilter }

// Last implements queue.Clock.
func (c clock) Last(slot uint32) float64 { return c.last(slot) }

// Touch implements queue.Clock.
func (c clock) Touch(slot uint32) (sum float64) {
	return c.polled[slot] + float64(c.beliefs[slot].Touch()) + float64(c.changed[slot/64]&1)
}

// Multiplier implements queue.Clock. What an edit of many pages makes a poll worth comes at once and
// hardly grows with time; so that the queue looks at such pages soon, it counts as some cycles more.
func (c clock) Multiplier(group uint32, last float64) float64 {
	m, edited := c.pulse(group, last)
	if edited > 0 && c.now > last {
		m += edited * editedCycles * c.model.Cycle() / (c.now - last)
	}
	return m
}

// hasCommon reports whether what all pages have in common counts. Under Detections most polls of
// pages of unequal costs are of the cheap ones that look best, and found changed less often than
// expected. That says little of the others; taken for evidence of all pages it halves the changes
// found in 2 of 10 runs of TestSetCost.
func (f *RateFilter) hasCommon() bool {
	return f.without&ablation.Common == 0 && (f.objective != Detections || f.costs == nil)
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
		m, edits = kin.Mean(&f.levels[ofGroup], last, m)
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
// is not known, and how many edits of many pages are to be expected since.
type multiplier struct{ last, m, edits float64 }

// logKnown is the logarithm, to base 2, of how many multipliers are kept between two answers: in a call
// of Next a few times are asked about, each more than once.
const logKnown = 4

// together returns the multiplier since a time.
func (f *RateFilter) together(last float64) multiplier {
	const golden = 0x9e3779b97f4a7c15
	k := &f.known[math.Float64bits(last)*golden>>(64-logKnown)]
	if k.m == 0 || k.last != last {
		m, edits := f.common.Mean(&f.levels[ofAll], last, 1)
		*k = multiplier{last, m, edits}
	}
	return *k
}

// followsEdits reports whether edits of many pages count. Under Detections they gain nothing: as many
// changes are found in four recorded histories, and fewer where pages change one by one.
func (f *RateFilter) followsEdits() bool {
	return f.objective != Detections && f.without&ablation.Edits == 0
}

var _ queue.Clock = clock{}

// value returns the value of a poll of a page, that was found changed at its last one or not.
func (f *RateFilter) value(b *belief.View, gap, counts float64, changed bool) float64 {
	value, spread := f.model.Value(b, gap, counts)
	optimism := 0.5 // standard deviations that are added for what a poll teaches
	if f.objective == Detections {
		fade := f.fade()
		optimism += 0.5 * fade
		if f.without&ablation.Calibration == 0 {
			value = f.census.Calibration.Correct(value, gap/f.model.Cycle(), changed, fade)
		}
	}
	return value + float64(optimism*spread)
}

// slope turns a value into an index.
func (f *RateFilter) slope(value float64) float64 {
	index := f.model.Slope(value)
	if f.objective == Detections && value > 1 {
		index += float64(aboveSure * max(0, f.fade()-ended) * (value - 1))
	}
	return index
}

// freshIndex is the index of a page of which nothing is known.
func (f *RateFilter) freshIndex(gap float64) float64 {
	fresh, view := f.model.Fresh(), belief.View{}
	f.model.See(&view, &fresh, belief.Level())
	return f.slope(f.value(&view, gap, gap, false))
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
	value := f.value(&t.view, gap, counts, f.changed.has(slot))
	if t.edited > 0 {
		value += f.model.Edited(&t.view, gap, counts, t.edited, stalesBack/f.model.Cycle())
	}
	if f.hints.On() {
		value *= f.hinting(slot, gap, counts, value)
	}
	index := f.slope(value)
	if f.weights != nil || f.costs != nil {
		index *= f.weight(slot) / f.cost(slot)
	}
	return index
}

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
func (c clock) Index(slot uint32, now float64) float64 { return c.index(slot, now-c.last(slot)) }

// Look implements queue.Pages.
func (c clock) Look(slot uint32, now, level float64) (index, due float64) {
	var t tempo
	t.tell(c.RateFilter, slot)
	index = c.indexAt(slot, now-c.last(slot), &t)
	return index, c.reaches(slot, now, index, level, &t)
}

// reaches returns the time at which a page whose index is known will reach a level, now if it has,
// rather a little too early than too late.
func (f *RateFilter) reaches(slot uint32, now, index, level float64, t *tempo) float64 {
	last := f.last(slot)
	gap := now - last
	switch {
	case index >= level:
		return now
	case !(gap > 0 && index > 0):
		return last + float64(early*f.crossing(slot, max(gap, f.model.Cycle()), 1, level, 0))
	}
	missing := fast.Log(level / index)
	step := max(leastStep, min(mostStep, missing/usualSlope))
	guess := gap * fast.Exp(step)
	rarer := max(1, float64(len(f.polled))/manyPages)
	soon := f.model.Cycle() * max(soonest, missing*missing/(drift*drift)) * rarer / f.fade()
	if soon <= guess-gap {
		return f.hinted(slot, now, now+soon)
	}
	if f.objective != Detections && index >= nearly*level {
		return f.hinted(slot, now, last+guess)
	}
	at := f.indexAt(slot, guess, t)
	reached := guess
	switch grown := fast.Log(at / index); {
	case at >= level && grown > 0:
		reached = f.narrowed(bracket{gap, guess, index, at}, slot, level, 0, t)
	case at >= nearEnough*level:
		reached = guess * fast.Exp((missing-grown)/max(leastSlope, min(mostSlope, grown/step)))
	}
	left := reached - gap
	left -= float64(left * (hasty * min(1, left/gap*(left/gap))))
	return f.hinted(slot, now, now+min(left, soon))
}

// hinted returns when to look at a page again that seems to be due at some time: what hints of it
// are worth changes by steps.
func (f *RateFilter) hinted(slot uint32, now, due float64) float64 {
	if f.hints.Led(int(slot)) {
		return min(due, now+f.model.Cycle()*hintStep)
	}
	return due
}

var _ queue.Pages = clock{}

// ownFree returns the time from which on a page may be polled, but for its group.
func (f *RateFilter) ownFree(slot uint32) float64 {
	return f.limits.Earliest(slot, f.polled[slot])
}

// freeAt returns the time from which on a page may be polled.
func (f *RateFilter) freeAt(slot uint32) float64 {
	free := f.ownFree(slot)
	if g := f.queue.Group(slot); g != queue.None {
		free = max(free, f.queue.ReadyGroup(g))
	}
	return free
}

// sweepPage looks at a waiting page again whose index will be clearly above the level by the time that
// the queue looks at it, as what is thought of all pages has moved.
func (f *RateFilter) sweepPage(slot uint32) {
	if !f.settled(slot) || f.queue.Hot(slot) {
		return
	}
	due := f.queue.Due(slot, clock{f})
	if due <= f.now {
		return
	}
	var t tempo
	t.tell(f, slot)
	late := 0.0
	if math.IsInf(due, 1) || f.indexAt(slot, min(due, f.now+f.model.Cycle())-f.last(slot), &t) > lateBy*f.queue.Level() {
		late = 1
		f.rekey(slot, &t)
	}
	f.late += (late - f.late) / lateOver
}

// refresh looks again at a waiting page, whose index may have changed.
func (f *RateFilter) refresh(slot uint32) {
	if f.settled(slot) {
		var t tempo
		t.tell(f, slot)
		f.rekey(slot, &t)
	}
}

// settled brings the deadline of a page up to date and reports whether it waits for its index.
func (f *RateFilter) settled(slot uint32) bool {
	f.recall(slot)
	if !f.queue.Waits(slot) {
		return false
	}
	f.setDeadline(slot, f.ownFree(slot))
	return !f.queue.Held(slot) && f.model.Known() && !f.queue.Few()
}

// rekey has the queue look at a waiting page when its index reaches the level.
func (f *RateFilter) rekey(slot uint32, t *tempo) {
	level := f.queue.Level()
	index := f.indexAt(slot, f.now-f.last(slot), t)
	f.queue.Rekey(slot, f.reaches(slot, f.now, index, level, t), f.now, clock{f})
}

// due returns the time at which a page's index reaches the price, within the bounds on its
// interval. While the evidence is for equal pages it is a cycle after the last answer. The search
// begins at a gap of guess.
func (f *RateFilter) due(slot uint32, guess float64) float64 {
	last := f.last(slot)
	if !f.model.Known() || math.IsInf(last, -1) {
		return last
	}
	gap := f.model.Cycle()
	if !f.inTurn() {
		gap = f.crossing(slot, guess, 1, f.threshold, dueSteps)
	}
	gap = min(gap, f.limits.Longest(slot), patience*f.model.Cycle())
	return max(last+gap, f.limits.Earliest(slot, f.polled[slot]))
}

// crossing finds the gap at which the index of a page reaches a level: between two neighbours of
// the doublings of a guess, by so many steps of the secant rule in log gap and one more, whose
// result is not looked at. That is exact to a tenth with none, and to a few per cent with two, but
// where the index hardly grows or takes a step. The search begins at the doubling that is times the
// guess, about, and goes on by leaps to where the index seems to reach the level. Under Detections,
// where it may also fall as the gap grows, it begins at the guess and goes on by single doublings,
// to the nearest crossing.
func (f *RateFilter) crossing(slot uint32, guess, times, level float64, steps int) float64 {
	var t tempo
	t.tell(f, slot)
	longest := 2 * max(guess, patience*f.model.Cycle())
	shortest := longest * shortestDue
	start := max(shortest, min(longest, guess))
	at, leaps := 0, f.objective != Detections
	if leaps {
		at = doublings(fast.Log(times))
	}
	// Invariant: the index was seen to be below the level after 2^below times start, and not to be
	// after 2^above times start.
	below, above := math.MinInt, math.MaxInt
	var b bracket
	for before, missed, slope := at, 0.0, usualSlope; ; {
		gap := max(shortest, min(longest, start*math.Float64frombits(uint64(1023+at)<<52)))
		index := f.indexAt(slot, gap, &t)
		if index < level {
			if gap >= longest {
				return longest
			}
			below, b.lo, b.below = at, gap, index
		} else {
			if gap <= shortest {
				return shortest
			}
			above, b.hi, b.above = at, gap, index
		}
		if below == above-1 {
			return f.narrowed(b, slot, level, steps, &t)
		}
		if leaps {
			missing := fast.Log(level / index)
			if at != before {
				slope = max(leastSlope, min(mostSlope, (missed-missing)/(float64(at-before)*math.Ln2)))
			}
			before, missed = at, missing
			at += doublings(missing / slope)
		}
		at = max(below+1, min(above-1, at))
	}
}

// doublings is how many doublings a factor is next to, 1/2 for −1, of which the logarithm is given.
func doublings(nats float64) int {
	x := math.Round(nats / math.Ln2)
	switch {
	case x > mostDoublings:
		return mostDoublings
	case x > -mostDoublings:
		return int(x)
	default:
		return -mostDoublings
	}
}

// A bracket is a gap at which an index is below a level, and one at which it is above, with the two.
type bracket struct{ lo, hi, below, above float64 }

// narrowed returns where the index of a page reaches a level, after so many looks at where it seems to,
// and one at least where it is steep there and has no steps.
func (f *RateFilter) narrowed(b bracket, slot uint32, level float64, looks int, t *tempo) float64 {
	if looks == 0 && !f.hints.On() && b.above > steep*b.below {
		looks = 1
	}
	for range looks {
		gap := b.reaches(level)
		if at := f.indexAt(slot, gap, t); at < level {
			b.lo, b.below = gap, at
		} else {
			b.hi, b.above = gap, at
		}
	}
	return b.reaches(level)
}

// reaches returns where an index reaches a level, were it a power of the gap.
func (b *bracket) reaches(level float64) float64 {
	part := 0.5
	if b.below > 0 && b.above > b.below {
		part = fast.Log(level/b.below) / fast.Log(b.above/b.below)
	}
	return b.lo * fast.Exp(fast.Log(b.hi/b.lo)*max(0.02, min(0.98, part)))
}
