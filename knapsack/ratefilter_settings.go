package knapsack

import (
	"fmt"
	"math"
	"slices"

	"github.com/recrawl/recrawl/knapsack/internal/hints"
	"github.com/recrawl/recrawl/knapsack/internal/pick"
)

// SetWeight sets how much a page counts in the objective; 1 to begin with. A page of weight 0 is
// polled only as often as the guarantee demands. It returns ErrConfig for a weight that is negative
// or not finite. O(log n); the first call takes O(n).
func (f *RateFilter) SetWeight(page int, weight float64) error {
	slot, err := f.slot(page)
	if err != nil {
		return err
	}
	if !(weight >= 0) || math.IsInf(weight, 1) {
		return fmt.Errorf("%w: page %d: weight %v", ErrConfig, page, weight)
	}
	if f.weights == nil {
		f.weights = slices.Repeat([]float64{1}, len(f.polled))
	}
	f.weights[slot] = weight
	f.refresh(uint32(slot))
	return nil
}

// SetCost sets what a poll of a page costs: bytes, seconds of rendering, credits of an API. It is 1
// to begin with, and from 1e-100 to 1e100. Next then returns the page with the greatest value per
// cost, and the budget is the cost of the polls that Next returns per unit of time, as measured.
// The caller calls Next when it can pay for a poll. A cycle is the time in which the budget pays
// for one poll of each page. O(log n); the first call takes O(n).
func (f *RateFilter) SetCost(page int, cost float64) error {
	slot, err := f.slot(page)
	if err != nil {
		return err
	}
	if err := checkCost(page, cost); err != nil {
		return err
	}
	if f.costs == nil {
		costs := make([]float64, len(f.polled))
		for slot := range costs {
			if f.ids.Live(slot) {
				costs[slot] = 1
			}
		}
		f.costs = treeOfCosts(costs)
	}
	f.costs.Set(slot, cost)
	f.refresh(uint32(slot))
	return nil
}

// treeOfCosts returns a tree for the cost of each slot, 0 where there is no page. Its size is a power of two, so that
// it can be doubled, and the sum depends on nothing but the costs.
func treeOfCosts(costs []float64) pick.SumTree {
	size := 1
	for size < len(costs) {
		size *= 2
	}
	return pick.SumTreeOf(costs, size)
}

// cost returns what a poll of a page costs.
func (f *RateFilter) cost(slot uint32) float64 {
	if f.costs == nil {
		return 1
	}
	return f.costs.Get(int(slot))
}

// costOfAll returns what a poll of every page costs.
func (f *RateFilter) costOfAll() float64 {
	if f.costs == nil || f.costs.Total() == 0 {
		return float64(max(1, f.ids.Len()))
	}
	return f.costs.Total()
}

// SetInterval bounds the time between an answer and the next poll of a page. The page is not polled
// before shortest has passed; one without an answer may be polled at once. Once longest has passed
// since its last answer, or since Add, it goes before all other pages that are due.
// 0 and +Inf are no bounds. It returns ErrConfig unless 0 ≤ shortest < ∞, shortest ≤ longest and
// longest > 0. O(log n); the first call takes O(n).
func (f *RateFilter) SetInterval(page int, shortest, longest float64) error {
	slot, err := f.slot(page)
	if err != nil {
		return err
	}
	if !(shortest >= 0) || math.IsInf(shortest, 1) || !(longest > 0) || longest < shortest {
		return fmt.Errorf("%w: page %d: interval from %v to %v", ErrConfig, page, shortest, longest)
	}
	s := uint32(slot)
	f.limits.SetInterval(s, shortest, longest, len(f.polled))
	f.retime(s)
	return nil
}

// Signal hints that a page changed at time at: the date in a sitemap moved, a new link points to
// it, a feed mentions it. The caller numbers its sources, from 0 to 63; a single source is 0.
//
// Hints may be wrong, late or early, and changes may come without one. How often and how late is
// learnt of each source from the polls that follow, and also of each group of pages once it has had
// hints. A hint is used from the first one on. What is learnt fades with 500 answers that had a
// hint of the source or found a change, so that a source that turns bad is soon disbelieved. A
// source that always claims that everything has changed gains nothing and costs nothing.
//
// A hint lasts until the page's next answer, and what an old hint is worth is learnt. A hint older
// than the last answer is ignored, and so is a second one of the same source. A hint of a future
// time counts from that time on. A hint during a flight counts when the answer comes. A hint more
// than 64 cycles ahead of the latest Next is in another unit and returns ErrTime; before the first
// Next, and before the time scale is known, it is accepted, and the page's next answer or hint
// after that removes it.
//
// Time: O(sources + log n); the first call takes O(n).
func (f *RateFilter) Signal(page, source int, at float64) error {
	slot, err := f.slot(page)
	if err != nil {
		return err
	}
	if source < 0 || source >= hints.MaxSources {
		return fmt.Errorf("%w: source %d of a signal for page %d", ErrConfig, source, page)
	}
	if !timely(at) || f.ahead(at) {
		return fmt.Errorf("%w: signal for page %d at %v", ErrTime, page, at)
	}
	if f.polled[slot] >= at {
		return nil
	}
	f.dropAhead(slot)
	f.hints.Add(slot, len(f.polled), source, at)
	f.refresh(uint32(slot))
	return nil
}

// farAhead is how many cycles a time may be ahead of the latest Next, as a crawler may have
// paused: times in milliseconds among seconds are further.
const farAhead = 64

// horizon returns the time up to which a time is not too far ahead of the latest Next: +Inf before there
// is a scale to judge it by, or a Next, as when pages come with a scale by Import.
func (f *RateFilter) horizon() float64 {
	if !f.model.Known() || math.IsInf(f.now, -1) {
		return math.Inf(1)
	}
	return f.now + farAhead*f.model.Cycle()
}

// ahead reports whether a time is too far ahead of the latest Next. A signal can do without: it is
// refused. The time of an answer may be right, as a filter that was left alone for long, or saved, may be
// told what happened since before it is asked for a poll. So it is taken, and only if a Next comes that
// is still as far behind, it was in another unit; see retrieve.
func (f *RateFilter) ahead(at float64) bool { return at > f.horizon() }

// dropAhead forgets hints about a page that came before there was a scale, in another unit.
func (f *RateFilter) dropAhead(slot int) { f.hints.DropAfter(slot, f.horizon()) }
