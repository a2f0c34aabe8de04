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

// LAKGConfig holds the settings of LAKG.
type LAKGConfig struct {
	// States is N, the resolution of the amounts: 1 to 65535, default 1500. With more states LAKG
	// learns more slowly and comes closer to the optimum.
	States int
	// Lambda is λ, the exponent of the amounts: above 0, default 1.3.
	Lambda float64
	// Capacity is c, the polls per unit of time at which the knapsack counts as full: above 0,
	// default 1, with one poll as the unit of time.
	Capacity float64
	// Start is the amount with which a page begins, rounded to the nearest of the N amounts: up to
	// 1. The default is Capacity over the number of pages at the beginning; a negative one stands
	// for the least amount.
	Start float64
	// Spacing is that of a page's polls at the learnt amounts; default Random, as in the paper.
	Spacing Spacing
}

// resolve replaces the settings that are left out, for n pages, by their defaults.
func (c LAKGConfig) resolve(n int) LAKGConfig {
	if c.States == 0 {
		c.States = 1500
	}
	if c.Lambda == 0 {
		c.Lambda = 1.3
	}
	if c.Capacity == 0 {
		c.Capacity = 1
	}
	c.Start = orDefault(c.Start, min(1, c.Capacity/float64(max(n, 1))))
	c.Spacing = c.Spacing.or(Random)
	return c
}

func (c LAKGConfig) check() error {
	switch {
	case c.States < 1 || c.States > math.MaxUint16:
		return fmt.Errorf("%w: %d states", ErrConfig, c.States)
	case !(c.Lambda > 0) || math.IsInf(c.Lambda, 1):
		return fmt.Errorf("%w: Lambda is %v", ErrConfig, c.Lambda)
	case !(c.Capacity > 0) || math.IsInf(c.Capacity, 1):
		return fmt.Errorf("%w: Capacity is %v", ErrConfig, c.Capacity)
	case !(c.Start >= 0 && c.Start <= 1):
		return fmt.Errorf("%w: Start is %v", ErrConfig, c.Start)
	}
	return spacingNames.Check(c.Spacing)
}

// LAKG is the Learning Automata Knapsack Game of Granmo, Oommen, Myrer and Olsen 2006, section II.
// Next gives the page to poll, Observe learns, Frequency returns what a page has come to.
// Take it for the algorithm of the paper, and where a few bytes a page are all there is: it
// estimates nothing. RateFilter learns faster and finds more.
//
// # Cost
//
// With Random spacing, time: O(log N) for Next and Observe, independent of the number of pages.
// Memory: 10 bytes a page (12 after a removal), plus O(N). With Even spacing, time: O(log n).
// Memory: 31 bytes a page. Nothing is allocated once the lists of pages have grown.
//
// # How it works
//
// Each page has an automaton with a state s in 1..N and the amount x = (s/N)^λ. Pages are polled at
// frequencies proportional to their amounts. The knapsack is full if Σx ≥ c. A poll moves its
// page's automaton
//
//	s ← s + 1   if the page had changed, s < N and the knapsack is not full
//	s ← s − 1   if it had not changed, s > 1 and the knapsack is full
//
// and leaves it otherwise. The amounts move towards those at which all pages are equally likely to
// have changed when polled, which is the optimum of Detections at equal weights.
//
// Pages lie in buckets, one for each state, so that a draw is one among N bucket totals and one
// inside a bucket.
type LAKG struct {
	book
	cfg   LAKGConfig
	walk  *automata.Walk
	src   rand.Source
	start uint16
	state []uint16     // per slot; 0: free
	all   []uint32     // per state: its pages, in flight or not
	total pick.SumTree // per state: all·x

	// With Random spacing: the pages not in flight, by state, and their number times x.
	buckets pick.Buckets
	idle    pick.SumTree

	even *pick.Overdue // with Even spacing
}

var _ Learner = (*LAKG)(nil)

// NewLAKG returns a LAKG of the pages 0..n−1.
func NewLAKG(n int, cfg LAKGConfig, src rand.Source) (*LAKG, error) {
	source.Require(src, "knapsack")
	cfg = cfg.resolve(n)
	if err := cfg.check(); err != nil {
		return nil, err
	}
	l := &LAKG{book: newBook(n), src: src, state: make([]uint16, n)}
	if err := l.configure(cfg); err != nil {
		return nil, err
	}
	if cfg.Spacing == Even {
		l.even = pick.NewOverdue(n)
	} else {
		l.buckets = pick.NewBuckets(n, cfg.States)
	}
	for slot := range l.state {
		l.enter(slot)
	}
	return l, nil
}

// configure makes the tables that follow from the settings.
func (l *LAKG) configure(cfg LAKGConfig) (err error) {
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

// Add implements Learner, in O(log N). The page begins with the amount Start.
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

// Frequency returns the amount x of a page, in (0, 1]. It is the frequency at which the page is polled
// once the amounts of all pages come to the Capacity.
func (l *LAKG) Frequency(page int) (float64, error) {
	slot, err := l.slot(page)
	if err != nil {
		return 0, err
	}
	return l.walk.Amount(int(l.state[slot])), nil
}

var formatLAKG = codec.Format{Magic: "recrawl/knapsack.LAKG", Version: 1}

// AppendBinary appends the state, source included.
func (l *LAKG) AppendBinary(b []byte) ([]byte, error) { return formatLAKG.Append(b, l.encode) }

// MarshalBinary returns the state, source included.
func (l *LAKG) MarshalBinary() ([]byte, error) { return l.AppendBinary(nil) }

// UnmarshalBinary restores what MarshalBinary saved. The receiver may be the zero value.
func (l *LAKG) UnmarshalBinary(data []byte) error {
	return codec.Load(l, formatLAKG, data, (*LAKG).decode)
}

func (l *LAKG) encode(e *codec.Encoder) {
	l.book.encode(e)
	e.Int(l.cfg.States)
	e.Float64(l.cfg.Lambda)
	e.Float64(l.cfg.Capacity)
	e.Float64(l.cfg.Start)
	e.Byte(byte(l.cfg.Spacing))
	e.Source(l.src)
	e.Uint16s(l.state)
	if l.even != nil {
		l.even.Encode(e)
	} else {
		l.buckets.Encode(e)
	}
}

func (l *LAKG) decode(d *codec.Decoder) {
	l.book = decodeBook(d)
	cfg := LAKGConfig{d.Int(), d.Float64(), d.Float64(), d.Float64(), Spacing(d.Byte())}
	d.Check(cfg.check())
	l.src = d.NeedSource()
	slots := l.ids.Slots()
	l.state = d.Uint16sIn(slots, uint16(cfg.States))
	if d.Err() == nil {
		d.Check(l.configure(cfg))
	}
	if d.Err() != nil {
		return
	}
	for slot, s := range l.state {
		d.Require((s > 0) == l.ids.Live(slot), "slot %d in state %d", slot, s)
		if s > 0 {
			l.count(int(s), +1)
		}
	}
	if cfg.Spacing == Even {
		l.even = pick.DecodeOverdue(d, slots, l.book.idle)
		return
	}
	l.buckets = pick.DecodeBuckets(d, l.state, cfg.States, l.book.idle)
	for s := 1; s <= cfg.States; s++ {
		l.weigh(s)
	}
}
