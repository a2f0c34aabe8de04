package game

import (
	"math/rand/v2"

	"github.com/recrawl/recrawl/automata"
	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/pick"
)

// A Config holds the settings of a LAKG that are resolved and checked.
type Config struct {
	States                  int
	Lambda, Capacity, Start float64
	Even                    bool // spacing
}

// Amounts holds the automata of a LAKG, and the pages that are not in flight. See knapsack.LAKG.
type Amounts struct {
	cfg   Config
	walk  *automata.Walk
	src   rand.Source
	start uint16
	state []uint16     // per slot; 0: free
	all   []uint32     // per state: its pages, in flight or not
	total pick.SumTree // per state: all·x

	// With random spacing: the pages not in flight, by state, and their number times x.
	buckets pick.Buckets
	idle    pick.SumTree

	even *pick.Overdue // with even spacing
}

// New returns the automata of n pages.
func New(n int, cfg Config, src rand.Source) (*Amounts, error) {
	l, err := empty(cfg, src)
	if err != nil {
		return nil, err
	}
	l.state = make([]uint16, n)
	if cfg.Even {
		l.even = pick.NewOverdue(n)
	} else {
		l.buckets = pick.NewBuckets(n, cfg.States)
	}
	for slot := range l.state {
		l.enter(slot)
	}
	return l, nil
}

// empty makes the tables that follow from the settings.
func empty(cfg Config, src rand.Source) (*Amounts, error) {
	walk, err := automata.NewWalk(cfg.States, cfg.Lambda)
	if err != nil {
		return nil, err
	}
	return &Amounts{
		cfg:   cfg,
		walk:  walk,
		src:   src,
		start: uint16(walk.State(cfg.Start)),
		all:   make([]uint32, cfg.States),
		total: pick.NewSumTree(cfg.States),
		idle:  pick.NewSumTree(cfg.States),
	}, nil
}

// Learn moves the automaton of a page in flight.
func (l *Amounts) Learn(slot int, changed bool) {
	s := int(l.state[slot])
	full := l.total.Total() >= l.cfg.Capacity
	l.move(slot, l.walk.StepFull(s, changed, full))
}

// move changes the state of a page, of one in flight or with even spacing.
func (l *Amounts) move(slot, next int) {
	if s := int(l.state[slot]); next != s {
		l.count(s, -1)
		l.count(next, +1)
		l.state[slot] = uint16(next)
	}
}

// Pick takes a page out, in O(log N) or, with even spacing, O(log n).
func (l *Amounts) Pick(now float64) (slot int, ok bool) {
	if l.even != nil {
		return l.even.Pick(now)
	}
	b, ok := l.idle.Draw(l.src)
	if ok {
		slot = l.buckets.At(b, int(l.src.Uint64()%uint64(l.buckets.Len(b))))
		l.take(slot)
	}
	return slot, ok
}

// Put brings a page in. A new page begins with the amount Start.
func (l *Amounts) Put(slot int, at float64) {
	if slot == len(l.state) {
		l.state = append(l.state, 0)
		l.buckets.Reserve(slot)
	}
	switch s := int(l.state[slot]); {
	case l.even != nil:
		if s > 0 {
			l.even.Set(slot, l.walk.Amount(s))
		}
		if l.even.Put(slot, at); s == 0 {
			l.enter(slot)
		}
	case s == 0:
		l.enter(slot)
	default:
		l.insert(slot)
	}
}

// enter starts the automaton of a slot.
func (l *Amounts) enter(slot int) {
	l.state[slot] = l.start
	l.count(int(l.start), +1)
	if l.even != nil {
		l.even.Set(slot, l.walk.Amount(int(l.start)))
		return
	}
	l.insert(slot)
}

// Drop forgets a page, in or out.
func (l *Amounts) Drop(slot int) {
	s := int(l.state[slot])
	if l.even != nil {
		l.even.Drop(slot)
	} else if l.buckets.Has(s-1, slot) {
		l.take(slot)
	}
	l.count(s, -1)
	l.state[slot] = 0
}

// Frequency returns the amount of a page.
func (l *Amounts) Frequency(slot int) float64 { return l.walk.Amount(int(l.state[slot])) }

// insert puts the page in a slot into its bucket, take takes it out.

func (l *Amounts) insert(slot int) {
	s := int(l.state[slot])
	l.buckets.Insert(s-1, slot)
	l.weigh(s)
}

func (l *Amounts) take(slot int) {
	s := int(l.state[slot])
	l.buckets.Remove(s-1, slot)
	l.weigh(s)
}

// weigh brings the idle total of a state up to date.
func (l *Amounts) weigh(s int) {
	l.idle.Set(s-1, float64(float64(l.buckets.Len(s-1))*l.walk.Amount(s)))
}

// count changes the number of pages in a state.
func (l *Amounts) count(s, by int) {
	l.all[s-1] = uint32(int(l.all[s-1]) + by)
	l.total.Set(s-1, float64(float64(l.all[s-1])*l.walk.Amount(s)))
}

// Total returns the sum of all amounts.
func (l *Amounts) Total() float64 { return l.total.Total() }

// Set gives a page the amount nearest to x.
func (l *Amounts) Set(slot int, x float64) {
	in := l.even == nil && l.buckets.Has(int(l.state[slot])-1, slot)
	if in {
		l.take(slot)
	}
	l.move(slot, l.walk.State(x))
	switch {
	case l.even != nil:
		l.even.Set(slot, l.walk.Amount(int(l.state[slot])))
	case in:
		l.insert(slot)
	}
}

// Bytes returns the memory of the tables, with that of the buckets alone.
func (l *Amounts) Bytes() (all, buckets int) {
	buckets = l.buckets.Bytes()
	return 2*cap(l.state) + 4*cap(l.all) + 8*(cap(l.total)+cap(l.idle)) + buckets, buckets
}

// Encode writes what does not follow from the settings.
func (l *Amounts) Encode(e *codec.Encoder) {
	e.Source(l.src)
	e.Uint16s(l.state)
	if l.even != nil {
		l.even.Encode(e)
	} else {
		l.buckets.Encode(e)
	}
}

// Decode reads what Encode wrote of so many slots. live reports which of them hold a page, in
// which of these are not in flight.
func Decode(d *codec.Decoder, cfg Config, slots int, live, in func(slot int) bool) *Amounts {
	src := d.NeedSource()
	state := d.Uint16sIn(slots, uint16(cfg.States))
	if d.Err() != nil {
		return nil
	}
	l, err := empty(cfg, src)
	if d.Check(err); err != nil {
		return nil
	}
	l.state = state
	for slot, s := range state {
		d.Require((s > 0) == live(slot), "slot %d in state %d", slot, s)
		if s > 0 {
			l.count(int(s), +1)
		}
	}
	if cfg.Even {
		l.even = pick.DecodeOverdue(d, slots, in)
		return l
	}
	l.buckets = pick.DecodeBuckets(d, state, cfg.States, in)
	for s := 1; s <= cfg.States; s++ {
		l.weigh(s)
	}
	return l
}
