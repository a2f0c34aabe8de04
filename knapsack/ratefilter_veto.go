package knapsack

import (
	"fmt"
	"math"

	"github.com/recrawl/recrawl/knapsack/internal/factor"
	"github.com/recrawl/recrawl/knapsack/internal/limits"
	"github.com/recrawl/recrawl/knapsack/internal/queue"
)

// Defer keeps a page from being polled before a point in time, as a Retry-After asks for. It
// replaces an earlier Defer of the page: +Inf defers the page for good, and a time in the past ends
// an earlier Defer. Answers do not end it. O(log n).
func (f *RateFilter) Defer(page int, until float64) error {
	slot, err := f.slot(page)
	if err != nil {
		return err
	}
	if math.IsNaN(until) {
		return fmt.Errorf("%w: page %d is deferred until %v", ErrTime, page, until)
	}
	f.limits.Defer(uint32(slot), min(until, limits.Full))
	f.retime(uint32(slot))
	return nil
}

// retime follows a change of the time from which on a page may be polled.
func (f *RateFilter) retime(slot uint32) {
	if !f.queue.Waits(slot) {
		return
	}
	free := f.ownFree(slot)
	switch {
	case free > f.now:
		f.queue.Hold(slot, free)
		f.setDeadline(slot, free)
	case f.queue.Held(slot):
		f.queue.Take(slot)
		f.wait(slot, hunch{guess: f.model.Cycle(), times: 1})
	default:
		f.refresh(slot)
	}
}

// A GroupConfig restrains the polls of a group of pages, such as those of a host. Its zero
// value restrains nothing.
type GroupConfig struct {
	// MinGap is the least time between two polls; 0 for none.
	MinGap float64
	// MaxShare is the greatest share of the budget, in (0, 1]; 0 for none. While the budget pays
	// for k polls, the group gets at most k·MaxShare + 2 of them. The budget is measured from the
	// calls of Next: the limit begins once they have taken some time and there were 17 of them.
	// While all pages wait for shares, it counts as what it was.
	// What a group does not use is not saved up, so that it gets one or two polls of those that
	// are asked for at the same time: spread the calls, or use MaxInFlight.
	MaxShare float64
	// MaxInFlight is the greatest number of polls in flight; 0 for any. A page that joins the
	// group while it is in flight counts.
	MaxInFlight int
}

func (c GroupConfig) pace() (limits.Pace, error) {
	pace := limits.NewPace(c.MinGap, c.MaxShare, c.MaxInFlight)
	if !pace.Valid() {
		return pace, fmt.Errorf("%w: group with a gap of %v, a share of %v and %d in flight", ErrConfig, c.MinGap, c.MaxShare, c.MaxInFlight)
	}
	return pace, nil
}

// AddGroup adds an empty group and returns its id: 0, 1, 2, … Like those of pages, ids are never
// given out twice. SetGroup puts pages into the group, LimitGroup changes its limits, DeferGroup
// keeps it from being polled for a time, and RemoveGroup removes it.
func (f *RateFilter) AddGroup(cfg GroupConfig) (group int, err error) {
	pace, err := cfg.pace()
	if err != nil {
		return 0, err
	}
	group = f.limits.AddPace(pace)
	if Slot(group) == f.queue.Groups() {
		f.queue.AddGroup()
		f.kin.Add(kin{})
	} else {
		f.forget(uint32(Slot(group)))
	}
	f.paced(uint32(Slot(group)))
	return group, nil
}

// group returns the slot of a group.
func (f *RateFilter) group(group int) (uint32, error) {
	g, ok := f.limits.Group(group)
	if !ok {
		return 0, fmt.Errorf("%w: group %d", ErrUnknown, group)
	}
	return g, nil
}

// LimitGroup changes the limits of a group. O(log n).
func (f *RateFilter) LimitGroup(group int, cfg GroupConfig) error {
	pace, err := cfg.pace()
	if err != nil {
		return err
	}
	g, err := f.group(group)
	if err != nil {
		return err
	}
	f.limits.Pace(g).Limit(pace)
	f.paced(g)
	return nil
}

// DeferGroup keeps all pages of a group, also those that join it later, from being polled before a
// point in time. It replaces an earlier DeferGroup of the group; see Defer. O(log n).
func (f *RateFilter) DeferGroup(group int, until float64) error {
	g, err := f.group(group)
	if err != nil {
		return err
	}
	if math.IsNaN(until) {
		return fmt.Errorf("%w: group %d is deferred until %v", ErrTime, group, until)
	}
	f.limits.Pace(g).Defer(min(until, limits.Full))
	f.paced(g)
	return nil
}

// RemoveGroup removes a group. Its pages are then in no group. O(log n), independent of the number
// of its pages.
func (f *RateFilter) RemoveGroup(group int) error {
	g, err := f.group(group)
	if err != nil {
		return err
	}
	f.limits.RemoveGroup(g)
	f.hints.ForgetGroup(g)
	f.paced(g)
	return nil
}

// SetGroup moves a page into a group; −1 is none. O(log n); the first call takes O(n).
func (f *RateFilter) SetGroup(page, group int) error {
	slot, err := f.slot(page)
	if err != nil {
		return err
	}
	s, g := uint32(slot), uint32(queue.None)
	if group != -1 {
		if g, err = f.group(group); err != nil {
			return err
		}
	}
	if f.marks == nil {
		f.marks = make([]factor.Mark, len(f.polled))
	}
	f.markAnew(s)
	waits := f.queue.Waits(s)
	f.queue.Take(s)
	f.regroup(s, g, !waits)
	if waits {
		f.wait(s, hunch{guess: f.model.Cycle(), times: 1})
	}
	return nil
}

// regroup moves a page that has been taken out of the queue from its group to another, None for
// none.
func (f *RateFilter) regroup(slot, to uint32, flying bool) {
	from := f.queue.Group(slot)
	if from == queue.None && to == queue.None {
		return
	}
	f.queue.Join(slot, to)
	if to != queue.None { // first, as the group may be the same
		f.limits.Join(to, flying)
		f.kin.At(to).Add(f.marks[slot])
		f.paced(to)
	}
	if from != queue.None {
		f.limits.Leave(from, flying)
		f.kin.At(from).Drop(f.marks[slot])
		f.paced(from)
	}
}

// paced follows a change of the time from which on a group may be polled.
func (f *RateFilter) paced(group uint32) {
	f.queue.SetReady(group, f.limits.Pace(group).Ready(), f.now, forQueue{f})
}

// land tells the group of a page that its flight has ended.
func (f *RateFilter) land(slot uint32) {
	if g := f.queue.Group(slot); g != queue.None {
		f.limits.Pace(g).Land()
		f.paced(g)
	}
}
