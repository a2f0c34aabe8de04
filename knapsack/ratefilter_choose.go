package knapsack

import (
	"math"

	"github.com/recrawl/recrawl/knapsack/internal/belief"
	"github.com/recrawl/recrawl/knapsack/internal/hints"
	"github.com/recrawl/recrawl/knapsack/internal/limits"
	"github.com/recrawl/recrawl/knapsack/internal/queue"
)

// How Next finds the page with the greatest index among all without looking at all. A page's
// key in the queue is its due time: when its index will reach a threshold. Polls happen
// where the index of the best page is, and the threshold follows it; so pages come up in
// the order of their index, as far as due times are up to date. They are computed when a
// page is answered, and then again as a sweep goes round all pages.
const (
	// topOfHeap is how many of the first pages of the heap are compared by their true index,
	// as keys are a little out of date. 5 to 60 change what is found on the webs of
	// TestRateFilterChoicesAreGolden by less than 1 %.
	topOfHeap = 15
	// thresholdPace is by how much of the distance, in log, the threshold moves to the index
	// of the page chosen: it averages over 300 polls. 0.0015 to 0.02 change what is found on
	// the golden webs by less than 1 %. Small budgets ask for a faster one: with 0.02 and a
	// sweep of 16 pages a quarter of the budget finds 5 % more on the history of
	// examples/recrawl.
	thresholdPace = 0.003
	// sweepPages is how many pages have their due times computed anew at each Next. The time
	// of a poll grows with it (BenchmarkRateFilter).
	sweepPages = 2
	// courtesy: every so many polls the page due first is polled, whatever its index. It
	// makes the bound on starvation hold and costs 1/16 of what the index gains.
	courtesy = 16
	// worthwhile is the gain from which on pages are not polled in turn. On pages that all change
	// alike the estimate stays below it (TestRateFilterOnCalmHistories). 0.1 was found to lose
	// on histories whose pages differ little, and to gain where many change at once.
	worthwhile = 0.02
	// shortestDue is the least due time, as a part of the longest.
	shortestDue = 1e-9
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

// A clock tells the queue how fast time passes for pages.
type clock struct{ *RateFilter }

// Last implements queue.Clock.
func (c clock) Last(slot uint32) float64 { return c.last(slot) }

// Multiplier implements queue.Clock.
func (c clock) Multiplier(group uint32, last float64) float64 {
	m := c.common.Mean(&c.levels[ofAll], last, 1)
	if g := c.neighbours(group); g != nil {
		m = g.Mean(&c.levels[ofGroup], last, m)
	}
	return m
}

var _ queue.Clock = clock{}

// multiplier returns by how much more than it is used to a page has changed since its last
// answer.
func (f *RateFilter) multiplier(slot uint32) float64 {
	return clock{f}.Multiplier(f.queue.Group(slot), f.last(slot))
}

// index returns the index of a page, a time gap after its last answer.
func (f *RateFilter) index(slot uint32, gap float64) float64 {
	if !(gap > 0) || math.IsInf(gap, 1) || !f.model.Known() {
		return 0 // the gap is infinite before the first Next
	}
	counts := gap * f.multiplier(slot)
	value, spread := f.model.Value(&f.beliefs[slot], gap, counts)
	if f.objective == Detections {
		value = f.census.Calibration.Correct(value, f.changed.has(slot), f.fade())
	}
	value += f.optimism() * spread
	if f.hints.On() {
		chance := value
		if f.objective != Detections {
			var b belief.Belief
			f.model.Unpack(&f.beliefs[slot], &b)
			b.Inform(f.census.Prior.Factor())
			rates := b.Marginal(gap / f.model.Cycle())
			chance = 1 - f.model.Survival(&rates, counts)
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

// choose takes a page out of the queue: one whose longest interval is over; else
// the one with the greatest index among those due first, but the one due first of
// all while the evidence is for equal pages, and every courtesy-th time.
func (f *RateFilter) choose(now float64) (slot uint32, ok bool) {
	f.release(now)
	best, bestIndex := f.overdue(now), math.Inf(-1)
	if best == queue.None {
		inTurn := f.inTurn()
		best, bestIndex = f.greatest(now, inTurn || f.meter.Polls()%courtesy == 0)
		if best == queue.None {
			return 0, false
		}
		if inTurn {
			f.tally.inTurn++
		}
	} else {
		f.tally.late++
	}
	if bestIndex > 0 && !math.IsInf(bestIndex, 1) {
		next := f.threshold * math.Pow(bestIndex/f.threshold, thresholdPace)
		if next > 0 && !math.IsInf(next, 1) { // weights may be as far apart as numbers go
			f.threshold = next
		}
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

// greatest returns the page with the greatest index among the first of the queue, with its
// index; or, byKey, the first one that may be polled, without.
func (f *RateFilter) greatest(now float64, byKey bool) (best uint32, bestIndex float64) {
	best, bestIndex = queue.None, math.Inf(-1)
	for i := 0; i < min(topOfHeap, f.queue.Len()); {
		slot := f.queue.At(i)
		if f.blocked(slot, now) {
			i, best, bestIndex = 0, queue.None, math.Inf(-1)
			continue
		}
		i++
		if byKey {
			return slot, bestIndex
		}
		if index := f.index(slot, now-f.last(slot)); index > bestIndex {
			best, bestIndex = slot, index
		}
	}
	return best, bestIndex
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
	for range min(sweepPages, len(f.polled)) {
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
	f.queue.Rekey(slot, f.due(slot, f.queue.Key(slot)-f.last(slot)))
	f.forward(slot)
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
		gap = f.crossing(slot, guess)
	}
	gap = min(gap, f.limits.Longest(slot))
	return max(last+gap, f.limits.Earliest(slot, f.polled[slot]))
}

// crossing finds, to a few per cent, the gap at which the index of a page reaches the
// threshold: by doubling from a guess, then twice by the secant rule in log gap. It is at
// most as long as the census has patience, so that no page starves.
func (f *RateFilter) crossing(slot uint32, guess float64) float64 {
	longest := float64(patience) * f.model.Cycle()
	shortest := longest * shortestDue
	gap := max(shortest, min(longest, guess))
	at := f.index(slot, gap)
	lo, hi, below, above := gap, gap, at, at
	// Invariant: the index is below at lo and above at hi, where they differ.
	if at < f.threshold {
		for above < f.threshold {
			if lo, below = hi, above; lo >= longest {
				return longest
			}
			hi = min(longest, 2*hi)
			above = f.index(slot, hi)
		}
	} else {
		for below >= f.threshold {
			if hi, above = lo, below; hi <= shortest {
				return shortest
			}
			lo = max(shortest, lo/2)
			below = f.index(slot, lo)
		}
	}
	for range 2 {
		part := max(0.05, min(0.95, (f.threshold-below)/(above-below)))
		gap = lo * math.Pow(hi/lo, part)
		if at = f.index(slot, gap); at < f.threshold {
			lo, below = gap, at
		} else {
			hi, above = gap, at
		}
	}
	return lo * math.Pow(hi/lo, (f.threshold-below)/(above-below))
}
