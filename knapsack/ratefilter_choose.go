package knapsack

import (
	"math"

	"github.com/recrawl/recrawl/knapsack/internal/belief"
	"github.com/recrawl/recrawl/knapsack/internal/hints"
	"github.com/recrawl/recrawl/knapsack/internal/limits"
	"github.com/recrawl/recrawl/knapsack/internal/queue"
)

// How Next finds the page with the greatest index among all without looking at all. A page's
// key in the queue is the time at which to look at it again: before its index has reached a
// threshold, as far as that can be told. Pages whose time has come are looked at: those below the
// threshold get another time, and of the others the one with the greatest index is polled. The
// threshold follows, so that there are always a few of them. As the price of a poll, and what
// all pages have in common, move meanwhile, a sweep goes round all pages.
//
// TestRateFilterIsNearlyExact compares what is chosen with the greatest of all.
const (
	// fullScan is up to how many pages Next goes through all. It skips those whose time to be looked
	// at is further off than farOff of their gap. It takes some 0.03 ms for 1000 pages.
	fullScan = 1200
	farOff   = 0.5
	// mostLooks bounds the pages that one Next looks at.
	mostLooks = 64
	// fewDue is how many pages the threshold is set for: that many are compared by their
	// true index at each Next.
	fewDue = 4
	// topOfHeap is how many of the first pages of the queue are compared where none has
	// reached the threshold.
	topOfHeap = 16
	// thresholdPace is by how much, in log, a Next moves the threshold at most; where there are many
	// pages it is paceOfMany over their number.
	thresholdPace = 0.02
	paceOfMany    = 20
	// leastSweep to mostSweep pages are looked at by the sweep at each Next: sweepOfMany over
	// the number of pages. The time of a poll grows with it (BenchmarkRateFilter).
	leastSweep, mostSweep, sweepOfMany = 2, 16, 10_000
	// fewPages is up to how many pages one answer changes so much of what is thought of the
	// others that a page is looked at several times on its way to the threshold: then it
	// is after a part of its gap, that grows with the root of the number of pages.
	fewPages = 500_000
	// near is the distance from the threshold, in parts of it, that is as good as none, and the least
	// part of a gap that a page is left alone for.
	near = 0.01
	// nearLevel is the part of the threshold for which times are found that are far off, and farBelow
	// the part below which an index says too little of when it reaches the threshold.
	nearLevel, farBelow = 0.9, 0.3
	// accurate is the error of the index, in nats, at which a due time is good enough, finely
	// where there are many pages.
	accurate, finely = 0.1, 0.025
	// usualSlope is the power of the gap that an index grows with, about, and steepSlope one that it
	// seldom grows faster than; mostSteps bounds the search for a due time.
	usualSlope, steepSlope, mostSteps = 1.3, 2, 12
	// shortestDue is the least due time, as a part of the longest.
	shortestDue = 1e-9
	// commonKnots is how finely the past of what all pages have in common is kept: a log scale of
	// ages by steps of a sixth.
	commonKnots = 48
	// worthwhile is the gain from which on pages are not polled in turn. On pages that all change
	// alike the estimate stays below it (TestRateFilterOnCalmHistories). 0.1 was found to lose
	// on histories whose pages differ little.
	worthwhile = 0.04
	// lateFrom is the part of patience from which on a poll counts as made because
	// patience is over.
	lateFrom = 0.8
)

// inTurn reports whether pages are polled in turn: see Hedge in the comment of the type.
// Weights and hints that tell pages apart are reasons not to.
func (f *RateFilter) inTurn() bool {
	return f.census.Hedge.Gain() < worthwhile && f.meter.Polls() >= uint64(len(f.polled)) &&
		f.weights == nil && !f.hints.Telling()
}

func (f *RateFilter) weight(slot uint32) float64 {
	if f.weights == nil {
		return 1
	}
	return f.weights[slot]
}

// factor returns how much faster than usual the time of a page seems to pass, over a time
// gap up to now.
func (f *RateFilter) factor(slot uint32, gap float64) float64 {
	return f.common.Mean(f.now-gap, 1)
}

// index returns the index of a page, a time gap after its last answer. For a gap that is not
// over yet it takes the factor of the past gap of that length, as the one to come is
// unknown.
func (f *RateFilter) index(slot uint32, gap float64) float64 {
	if !(gap > 0) || math.IsInf(gap, 1) || !f.model.Known() {
		return 0 // the gap is infinite before the first Next
	}
	factor := f.factor(slot, gap)
	value := f.model.Value(&f.beliefs[slot], gap, factor*gap)
	if f.hints.On() {
		chance := value
		if f.objective != Detections {
			var b belief.Belief
			f.model.Unpack(&f.beliefs[slot], &b)
			b.Inform(f.census.Prior.Factor())
			chance = f.model.Chance(&b, gap, factor*gap)
		}
		value = f.hints.Correct(int(slot), f.queue.Group(slot), f.spans(slot, gap), chance, value)
	}
	return f.weight(slot) * f.model.Slope(value)
}

// spans returns what hints are judged by, of a poll a time gap after the last answer.
func (f *RateFilter) spans(slot uint32, gap float64) hints.Spans {
	last := f.last(slot)
	return hints.Spans{Last: last, Now: last + gap, Cycle: f.model.Cycle()}
}

// freeAt returns the time from which on a page may be polled.
func (f *RateFilter) freeAt(slot uint32) float64 { return max(f.ownFree(slot), f.queue.Ready(slot)) }

// ownFree is freeAt but for the group.
func (f *RateFilter) ownFree(slot uint32) float64 {
	return f.limits.Earliest(slot, f.polled[slot])
}

// lead puts a page whose longest interval is over at the front of its group, which waits for an
// answer, unless that of the present front is over, too.
func (f *RateFilter) lead(slot uint32, now float64) {
	front := f.queue.Front(f.queue.Group(slot))
	if f.polled[front]+f.limits.Longest(front) > now || f.ownFree(front) > now {
		f.queue.Lead(slot, limits.Full)
	}
}

// choose takes a page out of the queue: one whose longest interval is over; else one that was
// waited with for as long as there is patience; else the one with the greatest index. While the
// evidence is for equal pages it is the one due first.
func (f *RateFilter) choose(now float64) (slot uint32, ok bool) {
	f.release(now)
	best := f.overdue(now)
	if best == queue.None {
		inTurn := f.inTurn()
		if inTurn || !f.model.Known() {
			best = f.first(now)
		} else {
			best = f.greatest(now)
		}
		if best == queue.None {
			return 0, false
		}
		if inTurn {
			f.tally.inTurn++
		}
	} else {
		f.tally.late++
	}
	if g := f.queue.Group(best); g != queue.None {
		period := f.model.Cycle() / float64(max(1, f.ids.Len()))
		pace := f.limits.Pace(g)
		pace.Spend(now, period)
		f.queue.SetReady(g, pace.Ready())
	}
	f.queue.Take(best)
	f.forward(best)
	return best, true
}

// first returns the first page of the queue that may be polled.
func (f *RateFilter) first(now float64) uint32 {
	for f.queue.Len() > 0 {
		if slot := f.queue.At(0); !f.blocked(slot, now) {
			return slot
		}
	}
	return queue.None
}

// greatest returns the page with the greatest index.
//
// It looks at the pages whose time has come: those of the top of the heap. One whose index is below the
// threshold is given another time; the others are compared. If there is none it compares the
// pages that come next. The threshold rises while there are many and falls while there are few.
func (f *RateFilter) greatest(now float64) uint32 {
	var walk [mostLooks]int32 // positions of the heap to look at
	best, bestIndex := uint32(queue.None), math.Inf(-1)
	todo, due := 0, 0
	if f.queue.Len() > 0 {
		todo = 1
	}
	patience := f.census.Patience.Cycles() * f.model.Cycle()
	all := f.queue.Len() <= fullScan
	if all {
		best, bestIndex = f.greatestOf(f.queue.Len(), now, farOff)
		todo = 0
	}
	looks := 0
	for done := 0; done < todo && looks < mostLooks; looks++ {
		at := int(walk[done])
		if at >= f.queue.Len() {
			done++
			continue
		}
		slot := f.queue.At(at)
		if f.blocked(slot, now) {
			continue // another page is there now
		}
		key := f.queue.Key(slot)
		if key > now {
			done++
			continue
		}
		gap := now - f.last(slot)
		if gap >= patience {
			return slot
		}
		index := f.index(slot, gap)
		if index < (1-near)*f.threshold {
			if next := f.later(slot, now, gap, index); next > now {
				f.queue.Rekey(slot, next)
				continue
			}
		}
		due++
		if index > bestIndex {
			best, bestIndex = slot, index
		}
		done++
		for child := 4*at + 1; child <= 4*at+4 && child < f.queue.Len() && todo < mostLooks; child++ {
			walk[todo] = int32(child)
			todo++
		}
	}
	if due == 0 && !all { // or all of the group had to be put aside
		best, bestIndex = f.greatestOf(topOfHeap, now, math.Inf(1))
	}
	step := min(thresholdPace, paceOfMany/float64(f.ids.Len())) * max(-1, min(1, float64(due-fewDue)/fewDue))
	if all && bestIndex > 0 && !math.IsInf(bestIndex, 1) {
		step = thresholdPace * math.Log(bestIndex/f.threshold)
	}
	if next := f.threshold * math.Exp(step); next > 0 && !math.IsInf(next, 1) {
		f.threshold = next
	}
	return best
}

// greatestOf returns the page with the greatest index among the first so many of the heap, but for
// those whose time is further off than a part of their gap.
func (f *RateFilter) greatestOf(many int, now, far float64) (best uint32, bestIndex float64) {
	best, bestIndex = queue.None, math.Inf(-1)
	patience := f.census.Patience.Cycles() * f.model.Cycle()
	for i := 0; i < min(many, f.queue.Len()); {
		slot := f.queue.At(i)
		if f.blocked(slot, now) {
			i, best, bestIndex = 0, queue.None, math.Inf(-1)
			continue
		}
		i++
		gap := now - f.last(slot)
		if gap >= patience {
			return slot, math.Inf(1)
		}
		if best != queue.None && f.queue.Key(slot)-now > far*gap {
			continue
		}
		if index := f.index(slot, gap); index > bestIndex || index == bestIndex && slot < best {
			best, bestIndex = slot, index
		}
	}
	return best, bestIndex
}

// later returns when to look at a page again whose index is below the threshold after a gap:
// before it can have reached the threshold, as no index grows faster than a power of
// the gap.
func (f *RateFilter) later(slot uint32, now, gap, index float64) float64 {
	last := f.last(slot)
	if f.ahead() >= 1 && gap > 0 {
		return f.due(slot, gap*math.Pow(f.threshold/max(index, farBelow*f.threshold), 1/usualSlope))
	}
	ahead := gap * (1 + f.ahead())
	if !(gap > 0) || index < farBelow*f.threshold {
		if next := f.due(slot, 2*gap); next-last < ahead || !(gap > 0) {
			return next
		}
		return max(last+ahead, f.limits.Earliest(slot, f.polled[slot]))
	}
	target := f.threshold
	if index < nearLevel*0.9*f.threshold {
		target *= nearLevel
	}
	steepest := float64(steepSlope)
	if f.objective == Age || f.objective == Delay {
		steepest++
	}
	next := gap * max(1+near, math.Pow(target/index, 1/steepest))
	next = min(next, ahead, f.census.Patience.Cycles()*f.model.Cycle(), f.limits.Longest(slot))
	return max(last+next, f.limits.Earliest(slot, f.polled[slot]))
}

// ahead is how far, as a part of its gap, the time of a page may be ahead; 1 is no bound.
func (f *RateFilter) ahead() float64 {
	return min(1, math.Sqrt(float64(f.ids.Len())/fewPages))
}

// release brings back the pages whose time has come.
func (f *RateFilter) release(now float64) {
	for {
		slot, ok := f.queue.Release(now)
		if !ok {
			return
		}
		f.queue.Resume(slot, f.due(slot, f.model.Cycle()))
	}
}

// blocked puts a page of the queue aside if it may not be polled now.
func (f *RateFilter) blocked(slot uint32, now float64) bool {
	if !f.limits.On() && !f.queue.Grouped() {
		return false
	}
	free := f.freeAt(slot)
	if free <= now {
		return false
	}
	f.hold(slot, now)
	return true
}

// hold puts a waiting page aside that may not be polled at time now: by itself, or as the front of
// its group, for which the group's time counts.
func (f *RateFilter) hold(slot uint32, now float64) {
	g, own := f.queue.Group(slot), f.ownFree(slot)
	switch {
	case g == queue.None || own <= now && f.queue.Front(g) == slot:
		f.queue.Hold(slot, f.freeAt(slot))
	case own > now:
		f.queue.Park(slot, own)
		f.forward(slot)
	default:
		f.requeue(slot)
	}
}

// requeue puts a waiting page where it belongs in the queue.
func (f *RateFilter) requeue(slot uint32) {
	f.queue.Take(slot)
	f.queue.Put(slot, f.due(slot, f.model.Cycle()))
	f.forward(slot)
}

// overdue returns a waiting page whose longest interval is over, if there is one, and
// None otherwise.
func (f *RateFilter) overdue(now float64) uint32 {
	for {
		slot, ok := f.limits.Expired(now)
		switch {
		case !ok:
			return queue.None
		case !f.queue.Waits(slot): // it gets a new deadline when it is answered
		case f.polled[slot]+f.limits.Longest(slot) > now:
			f.limits.Enter(slot, f.polled[slot])
		case f.freeAt(slot) == limits.Full: // it gets one when it may be polled again
			if f.queue.Group(slot) != queue.None && f.ownFree(slot) <= now {
				f.lead(slot, now)
			}
		case f.freeAt(slot) > now:
			f.limits.Postpone(slot, f.freeAt(slot))
		default:
			return slot
		}
	}
}

// refreshSome goes on with the sweep over all pages.
func (f *RateFilter) refreshSome() {
	for range min(max(leastSweep, min(mostSweep, sweepOfMany/max(1, f.ids.Len()))), len(f.polled)) {
		if f.sweep++; int(f.sweep) >= len(f.polled) {
			f.sweep = 0
		}
		f.refresh(f.sweep)
	}
}

// refresh computes again when a page is due. For one that is held it is done when the
// page comes back.
func (f *RateFilter) refresh(slot uint32) {
	f.recall(slot)
	if !f.queue.Waits(slot) || f.queue.Held(slot) {
		return
	}
	f.queue.Rekey(slot, f.again(slot))
	f.forward(slot)
}

// again returns when to look at a waiting page, the key of which may be out of date.
func (f *RateFilter) again(slot uint32) float64 {
	key := f.queue.Key(slot)
	gap := f.now - f.last(slot)
	if !f.model.Known() {
		return key
	}
	if f.inTurn() || !(gap > 0) {
		return f.due(slot, f.model.Cycle())
	}
	if f.ahead() >= 1 {
		if key > f.now {
			return f.due(slot, key-f.last(slot))
		}
		return key
	}
	if index := f.index(slot, gap); index < f.threshold {
		return f.later(slot, f.now, gap, index)
	}
	return min(key, f.now)
}

// due returns the time at which a page's index reaches the threshold, within
// the bounds on its interval. While the evidence is for equal pages it is a cycle
// after the last answer. The search begins at a gap of guess.
func (f *RateFilter) due(slot uint32, guess float64) float64 {
	last := f.last(slot)
	if !f.model.Known() || math.IsInf(last, -1) {
		return last
	}
	gap := f.model.Cycle()
	if !f.inTurn() {
		gap = f.soon(slot, guess)
	}
	gap = min(gap, f.limits.Longest(slot))
	return max(last+gap, f.limits.Earliest(slot, f.polled[slot]))
}

// soon returns a gap of a page before its index reaches the threshold.
func (f *RateFilter) soon(slot uint32, guess float64) float64 {
	if ahead := f.ahead(); ahead < 1 {
		return f.crossing(slot, guess, nearLevel*f.threshold, accurate) * (1 + ahead) / 2
	}
	gap, since := f.crossing(slot, guess, f.threshold, finely), max(0, f.now-f.last(slot))
	if gap > 1.05*since {
		gap = since + 0.9*(gap-since)
	}
	return gap
}

// crossing finds the gap at which the index of a page reaches a level, to an error in nats: by the secant rule in logarithms, from a guess. It is at most as
// long as the census has patience, so that no page starves.
func (f *RateFilter) crossing(slot uint32, guess, level, accurate float64) float64 {
	longest := f.census.Patience.Cycles() * f.model.Cycle()
	shortest := longest * shortestDue
	lo, hi := shortest, longest // the crossing is between them
	gap := max(shortest, min(longest, guess))
	before, missedBefore := 0.0, 0.0
	slope := usualSlope
	for range mostSteps {
		missed := math.Log(level / f.index(slot, gap))
		if math.Abs(missed) <= accurate {
			return gap
		}
		if missed > 0 {
			if lo = gap; gap >= longest {
				return longest
			}
		} else {
			if hi = gap; gap <= shortest {
				return shortest
			}
		}
		if before > 0 && gap != before {
			if s := (missedBefore - missed) / math.Log(gap/before); s > 0 {
				slope = max(0.1, min(4, s))
			}
		}
		before, missedBefore = gap, missed
		next := gap * math.Exp(max(-3, min(3, missed/slope)))
		switch {
		case next > lo && next < hi:
		case next >= hi && hi == longest:
			next = longest
		case next <= lo && lo == shortest:
			next = shortest
		default:
			next = math.Sqrt(lo * hi)
		}
		gap = next
	}
	return gap
}
