package knapsack

import (
	"fmt"
	"math"
)

// limits holds what restrains the rate filter. Its slices are empty until they
// are needed.
type limits struct {
	weights  []float64          // per slot
	interval []intervalBounds   // per slot
	group    []uint32           // per slot: index into groups, or none
	retry    map[uint32]float64 // slot of a page given back → time before which it is not polled
	groups   []pageGroup
	// deadlines holds pages with a longest interval by the time at which it was
	// over when they were entered. Entries whose key is not the page's are void.
	deadlines pageHeap
}

// An intervalBounds bounds the interval of a page. entry is the key of its entry
// in limits.deadlines; +Inf if it has none.
type intervalBounds struct{ min, max, entry float64 }

var unbounded = intervalBounds{0, math.Inf(1), math.Inf(1)}

// A pageGroup is a set of pages that share limits. front, if any, is the one of
// its waiting pages that is in main or timed; the others are in rest.
type pageGroup struct {
	GroupLimit
	ready float64 // time before which no page is polled
	turn  float64 // time at which its share allows the next poll
	front uint32
	rest  pageHeap
}

// A GroupLimit restrains the polls of a group of pages, such as those of a host.
type GroupLimit struct {
	// MinGap is the least time between two polls; 0 for none.
	MinGap float64
	// MaxShare is the greatest share of the budget, in (0, 1]; 0 for none. In a
	// time in which the budget pays for k polls at most k·MaxShare + 2 go to the
	// group. The budget is what Next is asked for, as measured.
	MaxShare float64
}

func (l GroupLimit) check() error {
	if !(l.MinGap >= 0) || math.IsInf(l.MinGap, 1) || !(l.MaxShare >= 0 && l.MaxShare <= 1) {
		return fmt.Errorf("%w: group with a gap of %v and a share of %v", ErrConfig, l.MinGap, l.MaxShare)
	}
	return nil
}

func (l *limits) active() bool { return l.interval != nil || l.group != nil || len(l.retry) > 0 }

// grow makes room for one more slot.
func (l *limits) grow() {
	if l.weights != nil {
		l.weights = append(l.weights, 1)
	}
	if l.interval != nil {
		l.interval = append(l.interval, unbounded)
	}
	if l.group != nil {
		l.group = append(l.group, none)
	}
}

// forget frees a slot.
func (l *limits) forget(slot uint32) {
	if l.weights != nil {
		l.weights[slot] = 1
	}
	if l.interval != nil {
		l.interval[slot] = unbounded
	}
	if l.group != nil {
		l.group[slot] = none
	}
	delete(l.retry, slot)
}

func (f *RateFilter) weight(slot uint32) float64 {
	if f.limits.weights == nil {
		return 1
	}
	return f.limits.weights[slot]
}

func (f *RateFilter) interval(slot uint32) intervalBounds {
	if f.limits.interval == nil {
		return unbounded
	}
	return f.limits.interval[slot]
}

func (f *RateFilter) groupOf(slot uint32) *pageGroup {
	if f.limits.group == nil || f.limits.group[slot] == none {
		return nil
	}
	return &f.limits.groups[f.limits.group[slot]]
}

// earliest returns the time before which a page may not be polled.
func (f *RateFilter) earliest(slot uint32) float64 {
	t := math.Inf(-1)
	if f.limits.interval != nil {
		if b := f.limits.interval[slot]; b.min > 0 {
			t = f.pages[slot].polled + b.min
		}
	}
	if len(f.limits.retry) > 0 {
		if r, ok := f.limits.retry[slot]; ok {
			t = max(t, r)
		}
	}
	return t
}

// spend notes a poll of the group, where the budget pays for one in every period.
func (g *pageGroup) spend(now, period float64) {
	g.ready = min(now+g.MinGap, math.MaxFloat64)
	if g.MaxShare > 0 {
		g.turn = min(max(g.turn, now-period)+period/g.MaxShare, math.MaxFloat64)
		g.ready = max(g.ready, g.turn)
	}
}

// SetWeight sets how much a page counts in the objective; 1 to begin with. A
// page of weight 0 is polled no more than the floor demands. O(log n); the first
// call takes O(n), and 8 bytes a page.
func (f *RateFilter) SetWeight(page int, weight float64) error {
	slot, err := f.slot(page)
	if err != nil {
		return err
	}
	if !(weight >= 0) || math.IsInf(weight, 1) {
		return fmt.Errorf("%w: page %d: %v", ErrWeight, page, weight)
	}
	if f.limits.weights == nil {
		f.limits.weights = filled(len(f.pages), 1.0)
	}
	f.limits.weights[slot] = weight
	f.refresh(uint32(slot))
	return nil
}

// SetInterval bounds the time between an answer and the next poll of a page: it
// is not polled before shortest, and goes before all others that are due once
// longest has passed. 0 and +Inf are no bounds. O(log n); the first call takes
// O(n), and 16 bytes a page.
func (f *RateFilter) SetInterval(page int, shortest, longest float64) error {
	slot, err := f.slot(page)
	if err != nil {
		return err
	}
	if !(shortest >= 0) || math.IsInf(shortest, 1) || !(longest > 0) || longest < shortest {
		return fmt.Errorf("%w: page %d: interval from %v to %v", ErrConfig, page, shortest, longest)
	}
	if f.limits.interval == nil {
		f.limits.interval = filled(len(f.pages), unbounded)
	}
	b := &f.limits.interval[slot]
	b.min, b.max = shortest, longest
	if f.pages[slot].polled+longest < b.entry {
		b.entry = math.Inf(1) // the entry is void; one that is too early is seen to in its time
	}
	f.enter(uint32(slot))
	if h, at := f.heapOf(uint32(slot)); h == &f.timed {
		h.move(f.pages, at, f.freeAt(uint32(slot)))
	}
	f.refresh(uint32(slot))
	return nil
}

// enter gives a page with a longest interval an entry in deadlines.
func (f *RateFilter) enter(slot uint32) {
	if f.limits.interval == nil {
		return
	}
	b, polled := &f.limits.interval[slot], f.pages[slot].polled
	if !math.IsInf(b.max, 1) && !math.IsInf(polled, -1) && math.IsInf(b.entry, 1) {
		b.entry = polled + b.max
		f.limits.deadlines.push(nil, slot, b.entry)
	}
}

// late takes a waiting page whose longest interval is over, if there is one, and
// none otherwise.
func (f *RateFilter) late(now float64) uint32 {
	d := &f.limits.deadlines
	for len(d.key) > 0 && d.key[0] <= now {
		key, slot := d.key[0], d.slot[0]
		b := &f.limits.interval[slot]
		h, _ := f.heapOf(slot)
		d.remove(nil, 0)
		if key != b.entry {
			continue
		}
		b.entry = math.Inf(1)
		switch {
		case h == nil: // it is entered when it is answered
		case f.pages[slot].polled+b.max > now:
			f.enter(slot)
		case f.freeAt(slot) > now:
			b.entry = f.freeAt(slot)
			d.push(nil, slot, b.entry)
		default:
			return slot
		}
	}
	return none
}

// AddGroup adds a group without pages and returns its number: 0, 1, 2, …
func (f *RateFilter) AddGroup(limit GroupLimit) (group int, err error) {
	if err := limit.check(); err != nil {
		return 0, err
	}
	f.limits.groups = append(f.limits.groups, pageGroup{GroupLimit: limit, ready: math.Inf(-1), turn: math.Inf(-1), front: none, rest: pageHeap{place: inGroup}})
	return len(f.limits.groups) - 1, nil
}

// SetGroup puts a page into a group, and takes it out of the one that it was in;
// −1 is none. O(log n); the first call takes O(n), and 4 bytes a page.
func (f *RateFilter) SetGroup(page, group int) error {
	slot, err := f.slot(page)
	if err != nil {
		return err
	}
	if group < -1 || group >= len(f.limits.groups) {
		return fmt.Errorf("%w: page %d: there is no group %d", ErrConfig, page, group)
	}
	s := uint32(slot)
	waits := f.pages[s].pos != none
	if waits {
		f.dequeue(s)
	}
	if f.limits.group == nil {
		f.limits.group = filled(len(f.pages), uint32(none))
	}
	f.limits.group[s] = none
	if group >= 0 {
		f.limits.group[s] = uint32(group)
	}
	if waits {
		f.enqueue(s, f.due(s, f.cycle))
	}
	return nil
}

func filled[T any](n int, x T) []T {
	s := make([]T, n)
	for i := range s {
		s[i] = x
	}
	return s
}
