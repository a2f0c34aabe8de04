package knapsack

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/automata"
	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/source"
	"github.com/recrawl/recrawl/knapsack/internal/pick"
)

// LAKGConfig holds the settings of LAKG. A zero field means its default.
type LAKGConfig struct {
	// States is N, the resolution of the amounts: 1 to 65535, default 1500.
	// More states are slower and more exact.
	States int
	// Lambda is λ, the exponent of the amounts: > 0, default 1.3.
	Lambda float64
	// Capacity is c, the polls per unit of time at which the knapsack counts
	// as full: > 0, default 1, with one poll as the unit of time.
	Capacity float64
	// Start is the amount with which a page begins, rounded to the nearest of
	// the N amounts: in [0, 1]. The default is Capacity over the number of
	// pages at the beginning.
	Start float64
	// Even spaces the polls of a page evenly at the learnt amounts, instead of
	// drawing each poll's page at random as the paper does.
	Even bool
}

// LAKG is the Learning Automata Knapsack Game of Granmo, Oommen, Myrer and
// Olsen 2006, section II. Each page has an automaton with a state s in 1..N and
// the amount x = (s/N)^λ; pages are polled with frequencies proportional to their
// amounts, and full says whether Σx ≥ c. A poll moves its page's automaton
//
//	s ← s + 1   if the page had changed, s < N and not full
//	s ← s − 1   if it had not changed, s > 1 and full
//
// and else leaves it. The amounts move towards those at which all pages are
// equally likely to have changed when polled, which is the optimum of Detections
// at equal weights.
//
// With polls at random Next and Observe take O(log N), whatever the number of
// pages, which takes 10 bytes a page, 12 after the first removal, and O(N): pages lie
// in buckets, one for each state, so that a draw is one over N bucket totals and
// one inside a bucket. Evenly spaced they take O(log n), and 31 bytes a page.
// Nothing is allocated once the buckets have grown.
type LAKG struct {
	book
	cfg   LAKGConfig
	walk  *automata.Walk
	src   rand.Source
	start uint16
	state []uint16     // per slot; 0: free
	all   []uint32     // per state: its pages, in flight or not
	total pick.SumTree // per state: all·x

	buckets pick.Buckets  // unless Even: the pages not in flight, by state
	idle    pick.SumTree  // unless Even: per state, pages not in flight · x
	even    *pick.Overdue // if Even
}

var _ Learner = (*LAKG)(nil)

// NewLAKG returns a LAKG of n pages, numbered 0..n−1. It returns ErrConfig for a
// setting out of range, and panics if src is nil or n negative.
func NewLAKG(n int, cfg LAKGConfig, src rand.Source) (*LAKG, error) {
	source.Require(src, "knapsack")
	if cfg.States == 0 {
		cfg.States = 1500
	}
	if cfg.Lambda == 0 {
		cfg.Lambda = 1.3
	}
	if cfg.Capacity == 0 {
		cfg.Capacity = 1
	}
	if cfg.Start == 0 {
		cfg.Start = min(1, cfg.Capacity/float64(max(n, 1)))
	}
	l := &LAKG{book: newBook(n), src: src}
	if err := l.configure(cfg); err != nil {
		return nil, err
	}
	if cfg.Even {
		l.even = pick.NewOverdue(n)
	} else {
		l.buckets = pick.NewBuckets(n, cfg.States)
	}
	l.state = make([]uint16, n)
	for slot := range l.state {
		l.enter(slot)
	}
	return l, nil
}

// configure checks the settings and makes the tables that follow from them.
func (l *LAKG) configure(cfg LAKGConfig) (err error) {
	switch {
	case cfg.States < 1 || cfg.States > math.MaxUint16:
		return fmt.Errorf("%w: %d states", ErrConfig, cfg.States)
	case !(cfg.Lambda > 0) || math.IsInf(cfg.Lambda, 1):
		return fmt.Errorf("%w: λ = %v", ErrConfig, cfg.Lambda)
	case !(cfg.Capacity > 0) || math.IsInf(cfg.Capacity, 1):
		return fmt.Errorf("%w: capacity %v", ErrConfig, cfg.Capacity)
	case !(cfg.Start >= 0 && cfg.Start <= 1):
		return fmt.Errorf("%w: start amount %v", ErrConfig, cfg.Start)
	}
	if l.walk, err = automata.NewWalk(cfg.States, cfg.Lambda); err != nil {
		return fmt.Errorf("%w: %w", ErrConfig, err)
	}
	l.cfg = cfg
	l.start = uint16(l.walk.State(cfg.Start))
	l.all = make([]uint32, cfg.States)
	l.total = pick.NewSumTree(cfg.States)
	l.idle = pick.NewSumTree(cfg.States)
	return nil
}

// Next implements Scheduler.
func (l *LAKG) Next(now float64) (page int, err error) {
	if err := l.clock(now); err != nil {
		return 0, err
	}
	var slot int
	var ok bool
	if l.even != nil {
		slot, ok = l.even.Pick(now)
	} else if b, drawn := l.idle.Draw(l.src); drawn {
		ok = true
		slot = l.buckets.At(b, int(l.src.Uint64()%uint64(l.buckets.Len(b))))
		l.take(slot)
	}
	if !ok {
		return 0, ErrNoPage
	}
	return l.ask(slot, now), nil
}

// Observe implements Scheduler.
func (l *LAKG) Observe(page int, now float64, changed bool) error {
	slot, err := l.answer(page, now)
	if err != nil {
		return err
	}
	s := int(l.state[slot])
	full := l.total.Total() >= l.cfg.Capacity
	if next := l.walk.NextFull(s, changed, full); next != s {
		l.count(s, -1)
		l.count(next, +1)
		l.state[slot] = uint16(next)
	}
	l.put(slot, now)
	return nil
}

// GiveBack implements Scheduler.
func (l *LAKG) GiveBack(page int, now float64) error {
	slot, err := l.answer(page, now)
	if err == nil {
		l.put(slot, now)
	}
	return err
}

// put makes the page in a slot eligible again.
func (l *LAKG) put(slot int, at float64) {
	s := int(l.state[slot])
	if l.even != nil {
		l.even.Set(slot, l.walk.Amount(s))
		l.even.Put(slot, at)
		return
	}
	l.buckets.Insert(s-1, slot)
	l.weigh(s)
}

// take takes the page in a slot out of its bucket.
func (l *LAKG) take(slot int) {
	s := int(l.state[slot])
	l.buckets.Remove(s-1, slot)
	l.weigh(s)
}

// weigh brings the idle total of a state up to date.
func (l *LAKG) weigh(s int) {
	l.idle.Set(s-1, float64(float64(l.buckets.Len(s-1))*l.walk.Amount(s)))
}

// count changes the number of pages in a state.
func (l *LAKG) count(s, by int) {
	l.all[s-1] = uint32(int(l.all[s-1]) + by)
	l.total.Set(s-1, float64(float64(l.all[s-1])*l.walk.Amount(s)))
}

// enter starts the automaton of a slot.
func (l *LAKG) enter(slot int) {
	l.state[slot] = l.start
	l.count(int(l.start), +1)
	if l.even != nil {
		l.even.Set(slot, l.walk.Amount(int(l.start)))
		return
	}
	l.put(slot, l.now)
}

// Add implements Learner: the page begins with the amount Start. It takes
// O(log N).
func (l *LAKG) Add() (page int) {
	page = l.ids.Add()
	slot := Slot(page)
	if slot == len(l.state) {
		l.state = append(l.state, 0)
	}
	if l.even != nil {
		l.even.Put(slot, l.now)
	} else {
		l.buckets.Reserve(slot)
	}
	l.enter(slot)
	return page
}

// Remove implements Learner, in O(log N).
func (l *LAKG) Remove(page int) error {
	slot, flying, err := l.remove(page)
	if err != nil {
		return err
	}
	if l.even != nil {
		l.even.Drop(slot)
	} else if !flying {
		l.take(slot)
	}
	l.count(int(l.state[slot]), -1)
	l.state[slot] = 0
	return nil
}

// Amount returns the amount x of a page, in (0, 1]: its polling frequency as
// long as Total is the capacity.
func (l *LAKG) Amount(page int) (float64, error) {
	slot, err := l.slot(page)
	if err != nil {
		return 0, err
	}
	return l.walk.Amount(int(l.state[slot])), nil
}

// Total returns Σx over all pages.
func (l *LAKG) Total() float64 { return l.total.Total() }

const lakgMagic = "recrawl/lakg"

// AppendBinary appends the state, source included.
func (l *LAKG) AppendBinary(b []byte) ([]byte, error) {
	e := codec.NewEncoder(b, lakgMagic, 1)
	l.book.encode(e)
	e.Int(l.cfg.States)
	e.Float64(l.cfg.Lambda)
	e.Float64(l.cfg.Capacity)
	e.Float64(l.cfg.Start)
	e.Bool(l.cfg.Even)
	e.Source(l.src)
	e.Uint16s(l.state)
	if l.even != nil {
		l.even.Encode(e)
	} else {
		l.buckets.Encode(e)
	}
	return e.Finish()
}

// MarshalBinary returns the state, source included.
func (l *LAKG) MarshalBinary() ([]byte, error) { return l.AppendBinary(nil) }

// UnmarshalBinary restores what MarshalBinary saved; l may be the zero value.
func (l *LAKG) UnmarshalBinary(data []byte) error {
	d, err := codec.NewDecoder(data, lakgMagic, 1)
	if err != nil {
		return err
	}
	r := LAKG{book: decodeBook(d)}
	cfg := LAKGConfig{States: d.Int(), Lambda: d.Float64(), Capacity: d.Float64(), Start: d.Float64(), Even: d.Bool()}
	if r.src = d.Source(); r.src == nil {
		d.Fail("no source of randomness")
	}
	r.state = d.Uint16s()
	if d.Err() == nil {
		if err := r.configure(cfg); err != nil {
			d.Fail("%v", err)
		}
	}
	if d.Err() != nil {
		return d.Err()
	}
	if len(r.state) != r.ids.Slots() {
		d.Fail("%d states for %d slots", len(r.state), r.ids.Slots())
		return d.Err()
	}
	for slot, s := range r.state {
		if int(s) > cfg.States || (s > 0) != r.ids.Live(slot) {
			d.Fail("slot %d in state %d", slot, s)
			return d.Err()
		}
		if s > 0 {
			r.count(int(s), +1)
		}
	}
	if cfg.Even {
		r.even = pick.DecodeOverdue(d, r.ids.Slots(), r.book.idle)
	} else {
		r.buckets = pick.DecodeBuckets(d, r.state, cfg.States, r.book.idle)
		for s := 1; s <= cfg.States && d.Err() == nil; s++ {
			r.weigh(s)
		}
	}
	if err := d.Done(); err != nil {
		return err
	}
	*l = r
	return nil
}
