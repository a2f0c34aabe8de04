package knapsack

import (
	"math"

	"github.com/recrawl/recrawl/knapsack/internal/fast"
	"github.com/recrawl/recrawl/knapsack/internal/queue"
)

// When the queue is to look at a page again: at about the time at which its index reaches the level.
const (
	// What is thought of all pages moves, and so do their indices. A sweep over all pages looks at
	// fewSweep of them at each Next, and at newSweep more in the first cycles. It finds those that are
	// late: above lateBy times the level by the time that the queue looks at them. The more of the pages
	// are late, by an average over lateOver of them, the more it looks at: sweepMore more if all are, but
	// mostSweep at most. A small web is swept faster, smallSweep pages in as many calls as there are
	// pages: with 6000 pages what Next picks under Detections is worth .970 of the best with 2 at each
	// call, .982 with 10, .987 with 20 and with 40 (three seeds of TestRateFilterIsNearlyExact).
	// Of many pages it looks at manyMore more in place of sweepMore: 4 cycles of 150,000 pages find
	// .999 as much so in a simulated web of rates that go with a power (seeds 1 and 2), and 1.03
	// times as much in one of bursts (seeds 1 to 4), where single runs differ by .04. Without
	// newSweep, too, they find .97 of that in the web of bursts (seeds 1 and 2).
	// Where a sample tells of all pages that is all. Of fewer a Next that computes less than enough indices
	// sweeps as many more pages. What it picks of 20,000 is worth .985 of the best so under Detections, and
	// .994 under Delay, and less than .98 and .990 without; of 100,000 under Freshness .994 and .987, for a
	// quarter more time.
	// In groups an edit moves the indices of many pages at once, and it looks at groupSweep at most: what
	// Next picks of 1500 pages is worth .96 to .99 of the best so, and .95 to .99 with mostSweep (eight webs
	// like that of TestRateFilterIsNearlyExactInGroups).
	fewSweep, newSweep, mostSweep, smallSweep = 2, 2.9, 32, 120_000
	enough, groupSweep                        = 24, 64
	sweepMore, lateBy, lateOver               = 8, 1.01, 64
	manyMore                                  = 2
	// leastSlope and mostSlope bound the power of the gap that an index grows with. leastStep and mostStep
	// bound how much longer a gap is looked at next, in nats:
	// factors of 1.005, of 1.02 with many pages (longStep), and of 3. Of 20,000 pages the hot ones
	// are within a thousandth of each other. With 1.02 those that wait again are 3 % above the
	// level when they are looked at, and what Next picks under Freshness and Delay is worth .988 and
	// .987 of the best, and .997 and .995 so, at as many looks. nearEnough is the part of a level at
	// which an index tells when it will reach it. From nearly on it does so by usualSlope, but for
	// Detections: where a change is almost sure an index grows with the power 0.3 of the gap, and a
	// page was looked at 6 times before it was polled.
	leastSlope, mostSlope         = 0.3, 3
	leastStep, longStep, mostStep = 0.005, 0.0198026273, 1.0986122887
	nearEnough, nearly            = 0.8, 0.9
	// early is the part of the time to when a page seems to be due after which it is looked at
	// again, where that is hardly known, and first the part after its last answer. hasty is by what part
	// of the time left it is too early where that is as long as the gap.
	early, first, hasty = 0.9, 0.9, 0.2
	// In the first cycles the level, and indices by what is thought of all pages, drift like a random walk,
	// by drift nats in a cycle. A page that is so far below the level is looked at again, at the soonest
	// after that part of a cycle: one that is almost sure to have changed hardly grows, and would
	// be above the level unseen until the sweep comes to it. Of more than manyPages each counts for
	// less, and is looked at less often for that.
	// Where an index also grows, the two go together, by a drift of wander; not with many pages.
	// With it choices of 20,000 pages are worth .002 more of the best under Detections (two seeds,
	// which differ by as much: .9840 and .9865 with a sweep, .9829 and .9859 without).
	drift, soonest, manyPages = 0.8, 0.015, 15_000
	wander                    = 0.4
	// hintStep is after how much of a cycle a page with a hint is looked at again.
	hintStep = 1.0 / 32
	// dueSteps is how many steps of the secant rule find the time at which a page is due. Where the index
	// grows by more than the factor steep between two looks there is one at least: that of a page in a
	// burst of changes grows from an eighth of the level to four times that in 40 polls of 20,000 pages,
	// and is then as great as an index can be. Such pages were found some polls late. Once there are hints
	// of any page, which move indices by steps, that is left out: delays of a recorded history are 15 %
	// longer with it.
	dueSteps, steep = 4, math.E
	// shortestDue is the least due time, as a part of the longest.
	shortestDue = 1e-9
	// mostDoublings is how many doublings a leap is at most.
	mostDoublings = 16
	// nearby is how far, in nats, an index may be from the level for one look to tell the due time,
	// where there are many pages. Of 10⁷ pages in the first 0.05 cycles a crossing takes 1.5 looks
	// with it and 2.5 without. Copies of 300,000 pages are as fresh, to .0001, in the first 4
	// cycles of three simulated webs.
	nearby = 0.35
)

// usualSlope returns the power of the gap that an index near the level grows with, about. The mean over the best
// of 20,000 pages of the webs of TestRateFilterIsNearlyExact is 2.5 for Age, 2 for Delay, 1.4 and 1.6 for
// Freshness and Harmonic, and .3 and 1.3 for Detections. With 1.4 for all, pages were looked at when they were
// 6 % above the level already, and what Next picks in the tenth cycle was worth .95 of the best for Age and Delay.
func (f *RateFilter) usualSlope() float64 {
	switch f.objective {
	case Age:
		return 2.5
	case Delay:
		return 2.1
	case Detections:
		return 1.4
	default:
		return 1.6
	}
}

// Look implements queue.Pages.
func (q forQueue) Look(slot uint32, now, level float64) (index, due float64) {
	var t tempo
	t.tell(q.RateFilter, slot)
	index = q.indexAt(slot, now-q.last(slot), &t)
	return index, q.reaches(slot, now, index, level, &t)
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
	if left := f.spared(); left > 0 && f.outdone(slot, index, gap*t.multiplier) {
		return now + left
	}
	missing := fast.Log(level / index)
	least := leastStep
	if f.many() {
		least = longStep
	}
	step := max(least, min(mostStep, missing/f.usualSlope()))
	guess := gap * fast.Exp(step)
	rarer := max(1, float64(len(f.polled))/manyPages)
	soon := f.model.Cycle() * max(soonest, missing*missing/(drift*drift)) * rarer / f.fade()
	if soon <= guess-gap {
		if f.many() || soon <= gap*(fast.Exp(missing/mostSlope)-1) {
			return f.hinted(slot, now, now+soon)
		}
		guess = gap + soon                                           // the index may grow faster than usual
		step = max(math.SmallestNonzeroFloat64, fast.Log(guess/gap)) // lest a slope be 0/0
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
	due, cycle := left, f.model.Cycle()/f.fade()
	if !f.many() {
		left = wandered(left, cycle*(missing*missing/(wander*wander))*rarer)
		left = max(left, min(due, cycle*soonest*rarer))
	}
	return f.hinted(slot, now, now+min(left, soon))
}

// spared returns for how long pages are left alone that are behind those of which nothing is known, 0 if
// none are. In the first cycle of many pages the greatest indices are mostly those of pages that were never
// polled, whose gap is the longest. A page that would be worth less than what is polled of late, had its gap
// been as long, stays behind them for as long as there are any. Without this it is looked at each time that its
// gap has grown by a part, as if the level did not grow, too. It comes back as long before the end of the
// cycle as the present is after its beginning, so that in the second half pages come back as they were left.
func (f *RateFilter) spared() (left float64) {
	left = f.model.Cycle() - 2*(f.now-f.meter.Start())
	if !(left > 0) || !f.many() || !f.sameWorth() || !f.queue.HasAlike() {
		return 0
	}
	return left
}

// outdone reports whether a page is behind those of which nothing is known. Its index is given after a gap
// that counts as counts, or 0 and 1.
func (f *RateFilter) outdone(slot uint32, index, counts float64) bool {
	longest := f.now - f.meter.Start()
	var t tempo
	t.multiplier, t.edited = f.pulse(queue.None, f.meter.Start())
	if f.queue.Group(slot) != queue.None || index*(longest*t.multiplier) >= f.threshold*counts {
		return false // the latter most likely, and costs no look
	}
	f.model.See(&t.view, &f.beliefs[slot], f.leaning(slot))
	return f.indexAt(slot, longest, &t) < f.threshold
}

// wandered returns when what is missing of an index is made up for by its growth, which alone
// takes grows, together with a random walk, which alone takes drifts.
func wandered(grows, drifts float64) float64 {
	if !(grows > 0) {
		return grows
	}
	// x·grows with x + √(x·grows/drifts) = 1, without a difference that would lose its digits.
	ratio := grows / drifts
	root := 2 / (math.Sqrt(ratio+4) + math.Sqrt(ratio))
	return grows * root * root
}

// hinted returns when to look at a page again that seems to be due at some time: what hints of it
// are worth changes by steps.
func (f *RateFilter) hinted(slot uint32, now, due float64) float64 {
	if f.hints.Led(int(slot)) {
		return min(due, now+f.model.Cycle()*hintStep)
	}
	return due
}

// ownFree returns the time from which on a page may be polled, but for its group. A shortest interval counts from
// an answer on, not from Add.
func (f *RateFilter) ownFree(slot uint32) float64 {
	answered := f.polled[slot]
	if f.added.has(slot) {
		answered = math.Inf(-1)
	}
	return f.limits.Earliest(slot, answered)
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
	if f.ahead(f.polled[slot]) {
		f.retrieve(slot)
		return
	}
	if !f.settled(slot) || f.queue.Hot(slot) {
		return
	}
	due := f.queue.Due(slot, forQueue{f})
	if due <= f.now {
		return
	}
	var t tempo
	t.tell(f, slot)
	late, level := 0.0, lateBy*f.queue.Level()
	gap := min(due, f.now+f.model.Cycle()) - f.last(slot)
	if math.IsInf(due, 1) || f.indexAt(slot, gap, &t) > level && !(f.spared() > 0 && f.outdone(slot, 0, 1)) {
		late = 1
		f.rekey(slot, &t)
	}
	f.late += (late - f.late) / lateOver
}

// retrieve has a page count as known as of the latest Next that was said to be known as of a time far ahead
// of that: until then it would not be polled.
func (f *RateFilter) retrieve(slot uint32) {
	f.polled[slot] = f.now
	if f.birth(slot) > f.now { // in another unit, too
		f.setBirth(int(slot), math.Inf(-1))
	}
	if f.queue.Waits(slot) {
		f.queue.Take(slot)
		f.wait(slot, hunch{guess: f.model.Cycle(), times: 1})
	}
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

// rekey has the queue look at a waiting page when its index reaches the level. One that is above
// has reached it some time ago: were it due just now, a level or a multiplier that moves a little
// would put it off, for a tenth of a cycle at times.
func (f *RateFilter) rekey(slot uint32, t *tempo) {
	level, gap := f.queue.Level(), f.now-f.last(slot)
	index := f.indexAt(slot, gap, t)
	due := f.reaches(slot, f.now, index, level, t)
	if index > level && !f.many() {
		due -= float64(gap * (1 - fast.Exp(fast.Log(level/index)/f.usualSlope())))
	}
	f.queue.Rekey(slot, due, f.now, forQueue{f})
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
	return max(last+gap, f.ownFree(slot))
}

// crossing finds the gap at which the index of a page reaches a level: between two neighbours of
// the doublings of a guess, by so many steps of the secant rule in log gap and one more, whose
// result is not looked at. That is exact to a tenth with none, to a few per cent with two, and to a
// fifth with none where there are many pages and the level is nearby at one look, but where the
// index hardly grows or takes a step. The search begins at the doubling that is times the
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
	for before, missed, slope := at, 0.0, f.usualSlope(); ; {
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
			if steps == 0 && math.Abs(missing) < nearby && f.many() && !f.hints.On() {
				return max(shortest, min(longest, gap*fast.Exp(missing/slope)))
			}
			before, missed = at, missing
			at += doublings(missing / slope)
		}
		at = max(below+1, min(above-1, at))
	}
}

// many reports whether there are so many pages that a sample tells of all.
func (f *RateFilter) many() bool { return f.census.Every(len(f.polled)) > 1 }

// doublings returns the power of 2 that a factor is next to, −1 for one of 1/2, given the logarithm
// of the factor.
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
