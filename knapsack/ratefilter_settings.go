package knapsack

import (
	"fmt"
	"math"
	"slices"
)

// SetWeight sets how much a page counts in the objective; 1 to begin with. A page of
// weight 0 is polled only as often as the guarantee demands. O(log n); the first call takes O(n).
func (f *RateFilter) SetWeight(page int, weight float64) error {
	slot, err := f.slot(page)
	if err != nil {
		return err
	}
	if !(weight >= 0) || math.IsInf(weight, 1) {
		return fmt.Errorf("%w: page %d: %v", ErrWeight, page, weight)
	}
	if f.weights == nil {
		f.weights = slices.Repeat([]float64{1}, len(f.polled))
	}
	f.weights[slot] = weight
	f.refresh(uint32(slot))
	return nil
}

// SetInterval bounds the time between an answer and the next poll of a page: it is not
// polled before shortest has passed, and goes before all others that are due once longest
// has. 0 and +Inf are no bounds. O(log n); the first call takes O(n).
func (f *RateFilter) SetInterval(page int, shortest, longest float64) error {
	slot, err := f.slot(page)
	if err != nil {
		return err
	}
	if !(shortest >= 0) || math.IsInf(shortest, 1) || !(longest > 0) || longest < shortest {
		return fmt.Errorf("%w: page %d: interval from %v to %v", ErrConfig, page, shortest, longest)
	}
	s := uint32(slot)
	f.limits.SetInterval(s, shortest, longest, f.polled[slot], len(f.polled))
	f.retime(s)
	return nil
}

// Signal hints that a page changed at time at: somebody linked to it anew, a feed mentions
// it, its sitemap entry moved. Hints may be wrong, and changes may come without; how often
// is learnt from the polls that follow, over all pages, and used from the first hint on.
// One that is older than the page's last answer is ignored; one that comes during a flight
// counts for its answer. O(log n); the first call takes O(n).
func (f *RateFilter) Signal(page int, at float64) error {
	slot, err := f.slot(page)
	if err != nil {
		return err
	}
	if math.IsNaN(at) || math.IsInf(at, 0) {
		return fmt.Errorf("%w: signal for page %d at %v", ErrTime, page, at)
	}
	if f.polled[slot] >= at {
		return nil
	}
	f.hints.Add(slot, len(f.polled))
	f.refresh(uint32(slot))
	return nil
}
