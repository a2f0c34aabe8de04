package knapsack

import (
	"fmt"
	"math"

	"github.com/recrawl/recrawl/knapsack/internal/pick"
)

// Ready returns the earliest time at which Next can succeed, which is not before the latest Next.
// It is +Inf if only an answer, a new page or the end of a limit can help. The NoPageError of a
// Next that found no page carries it. O(1).
func (f *RateFilter) Ready() float64 { return never(f.queue.Ready(f.now)) }

// never returns +Inf for a time that never comes, as no Next may have it.
func never(at float64) float64 {
	if at >= pick.MostTime {
		return math.Inf(1)
	}
	return at
}

// Due returns the time at which a page is expected to be polled next, at the present Price and
// within its limits. It is the latest Next if the page is overdue, +Inf if a limit keeps it from
// being polled for good, and the time of its own Next while it is in flight. It is an estimate:
// polls depend on the other pages, too. O(1).
func (f *RateFilter) Due(page int) (float64, error) {
	slot, err := f.slot(page)
	if err != nil {
		return 0, err
	}
	if at, ok := f.askedAt(slot); ok {
		return at, nil
	}
	s := uint32(slot)
	packed := f.beliefs[slot]
	at := max(f.now, never(max(f.due(s, f.model.Cycle()), f.freeAt(s))))
	f.beliefs[slot] = packed // see belief
	return at, nil
}

// Index returns what a poll of a page would be worth at a time, to compare with Price: a caller may
// decide whether a page is worth a poll that is about to be made anyway, or that costs more than
// others. After a SetCost it is what that is worth per unit of cost, as Price is. It is 0 before the
// time scale is known, and up to the time of the page's last answer. O(1).
func (f *RateFilter) Index(page int, now float64) (float64, error) {
	slot, err := f.slot(page)
	if err != nil {
		return 0, err
	}
	if !timely(now) {
		return 0, fmt.Errorf("%w: index at %v", ErrTime, now)
	}
	packed := f.beliefs[slot]
	index := f.index(uint32(slot), now-f.last(uint32(slot)))
	f.beliefs[slot] = packed // see belief
	if math.IsNaN(index) || math.IsInf(index, 1) {
		index = representable(index)
	}
	return index, nil
}
