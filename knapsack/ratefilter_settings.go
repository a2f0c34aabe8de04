package knapsack

import (
	"fmt"
	"math"
	"slices"

	"github.com/recrawl/recrawl/knapsack/internal/limits"
	"github.com/recrawl/recrawl/knapsack/internal/queue"
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
	if f.queue.Held(s) {
		f.queue.Hold(s, f.freeAt(s))
	}
	f.refresh(s)
	return nil
}

// A GroupConfig restrains the polls of a group of pages, such as those of a host. Its zero
// value restrains nothing.
type GroupConfig struct {
	// MinGap is the least time between two polls; 0 for none.
	MinGap float64
	// MaxShare is the greatest share of the budget, in (0, 1]; 0 for none. In a
	// time in which the budget pays for k polls at most k·MaxShare + 2 go to the
	// group. The budget is what Next is asked for, as measured.
	MaxShare float64
}

// AddGroup adds a group without pages and returns its number: 0, 1, 2, … SetGroup puts
// pages into it.
func (f *RateFilter) AddGroup(cfg GroupConfig) (group int, err error) {
	pace := limits.NewPace(cfg.MinGap, cfg.MaxShare)
	if !pace.Valid() {
		return 0, fmt.Errorf("%w: group with a gap of %v and a share of %v", ErrConfig, cfg.MinGap, cfg.MaxShare)
	}
	f.limits.AddPace(pace)
	return f.queue.AddGroup(), nil
}

// SetGroup puts a page into a group, and takes it out of the one that it was in;
// −1 is none. O(log n); the first call takes O(n).
func (f *RateFilter) SetGroup(page, group int) error {
	slot, err := f.slot(page)
	if err != nil {
		return err
	}
	if group < -1 || group >= f.queue.Groups() {
		return fmt.Errorf("%w: page %d: there is no group %d", ErrConfig, page, group)
	}
	s, g := uint32(slot), uint32(queue.None)
	if group >= 0 {
		g = uint32(group)
	}
	waits := f.queue.Waits(s)
	f.queue.Take(s)
	f.queue.Join(s, g)
	if waits {
		f.queue.Put(s, f.due(s, f.model.Cycle()))
	}
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
