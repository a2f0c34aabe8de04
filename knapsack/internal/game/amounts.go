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
	draws pick.Advance
	start int
	all   []uint32     // per state: its pages, in flight or not
	total pick.SumTree // per state: all·x

	// With random spacing: the pages by state, which is the home of each, plus 1, and, of those not
	// in flight, the number in each state times x.
	buckets pick.Buckets
	idle    pick.SumTree
	stale   int // the state of which idle is not up to date, 0 for none
	ahead   ahead

	// With even spacing:
	even  *pick.Overdue
	state []uint16 // per slot; 0: free
}

// New returns the automata of n pages.
func New(n int, cfg Config, src rand.Source) (*Amounts, error) {
	l, err := empty(cfg, src)
	if err != nil {
		return nil, err
	}
	if cfg.Even {
		l.even, l.state = pick.NewOverdue(n), make([]uint16, n)
	} else {
		l.buckets = pick.NewBuckets(n, cfg.States)
	}
	for slot := range n {
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
		draws: pick.NewAdvance(src),
		start: walk.State(cfg.Start),
		all:   make([]uint32, cfg.States),
		total: pick.NewSumTree(cfg.States),
		idle:  pick.NewSumTree(cfg.States),
		ahead: ahead{from: lookFrom},
	}, nil
}

// at returns the state of a page, 0 if the slot is free.
func (l *Amounts) at(slot int) int {
	if l.even != nil {
		return int(l.state[slot])
	}
	return l.buckets.Home(slot) + 1
}

// set changes the state of a page that is in no bucket; 0 frees the slot.
func (l *Amounts) set(slot, s int) {
	if l.even != nil {
		l.state[slot] = uint16(s)
	} else {
		l.buckets.SetHome(slot, s-1)
	}
}

// Learn moves the automaton of a page in flight.
func (l *Amounts) Learn(slot int, changed bool) {
	s := l.at(slot)
	full := l.total.Total() >= l.cfg.Capacity
	l.move(slot, l.walk.StepFull(s, changed, full))
}

// move changes the state of a page, of one in flight or with even spacing.
func (l *Amounts) move(slot, next int) {
	if s := l.at(slot); next != s {
		l.count(s, -1)
		l.count(next, +1)
		l.set(slot, next)
	}
}

// Pick takes a page out, in O(log N) or, with even spacing, O(log n).
func (l *Amounts) Pick(now float64) (slot int, ok bool) {
	if l.even != nil {
		return l.even.Pick(now)
	}
	l.settle()
	if !(l.idle.Total() > 0) {
		return 0, false
	}
	slot = l.draw()
	l.take(slot)
	return slot, true
}

// Put brings a page in. A new page begins with the amount Start.
func (l *Amounts) Put(slot int, at float64) {
	if l.even != nil {
		l.putEven(slot, at)
		return
	}
	if slot == l.buckets.Slots() {
		l.buckets.Reserve()
	}
	if l.at(slot) == 0 {
		l.enter(slot)
	} else {
		l.insert(slot)
	}
}

func (l *Amounts) putEven(slot int, at float64) {
	if slot == len(l.state) {
		l.state = append(l.state, 0)
	}
	s := l.at(slot)
	if s > 0 {
		l.even.Set(slot, l.walk.Amount(s))
	}
	if l.even.Put(slot, at); s == 0 {
		l.enter(slot)
	}
}

// enter starts the automaton of a slot.
func (l *Amounts) enter(slot int) {
	l.set(slot, l.start)
	l.count(l.start, +1)
	if l.even != nil {
		l.even.Set(slot, l.walk.Amount(l.start))
		return
	}
	l.insert(slot)
}

// Drop forgets a page, in or out.
func (l *Amounts) Drop(slot int) {
	if l.even != nil {
		l.even.Drop(slot)
	} else if l.buckets.Has(slot) {
		l.take(slot)
	}
	l.count(l.at(slot), -1)
	l.set(slot, 0)
}

// Frequency returns the amount of a page.
func (l *Amounts) Frequency(slot int) float64 { return l.walk.Amount(l.at(slot)) }

// insert puts the page in a slot into its bucket.
func (l *Amounts) insert(slot int) {
	l.buckets.Insert(slot)
	l.weigh(l.at(slot))
}

// take takes the page in a slot out of its bucket.
func (l *Amounts) take(slot int) {
	l.buckets.Remove(slot)
	l.weigh(l.at(slot))
}

// weigh notes that the idle total of a state is to be brought up to date: often the page that
// a poll takes out comes back before the next draw.
func (l *Amounts) weigh(s int) {
	if s != l.stale {
		l.settle()
		l.stale = s
	}
}

// settle brings all idle totals up to date.
func (l *Amounts) settle() {
	if s := l.stale; s > 0 {
		if l.idle.Set(s-1, float64(float64(l.buckets.Len(s-1))*l.walk.Amount(s))) {
			l.ahead.moved = true
		}
		l.stale = 0
	}
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
	in := l.even == nil && l.buckets.Has(slot)
	if in {
		l.take(slot)
	}
	l.move(slot, l.walk.State(x))
	switch {
	case l.even != nil:
		l.even.Set(slot, l.walk.Amount(l.at(slot)))
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
	l.draws.Encode(e)
	if l.even != nil {
		e.Uint16s(l.state)
		l.even.Encode(e)
	} else {
		l.buckets.Encode(e)
	}
}

// Decode reads what Encode wrote of so many slots. live reports which of them hold a page, in
// which of these are not in flight.
func Decode(d *codec.Decoder, cfg Config, slots int, live, in func(slot int) bool) *Amounts {
	draws := pick.DecodeAdvance(d, 2)
	l, err := empty(cfg, nil)
	if d.Check(err); d.Err() != nil {
		return nil
	}
	l.draws = draws
	if cfg.Even {
		l.state = d.Uint16sIn(slots, uint16(cfg.States))
		l.even = pick.DecodeOverdue(d, slots, in)
	} else {
		l.buckets = pick.DecodeBuckets(d, slots, cfg.States, in)
	}
	if d.Err() != nil {
		return nil
	}
	for slot := range slots {
		s := l.at(slot)
		d.Require((s > 0) == live(slot), "slot %d in state %d", slot, s)
		if s > 0 {
			l.count(s, +1)
		}
	}
	for s := 1; s <= cfg.States && !cfg.Even; s++ {
		l.weigh(s)
	}
	l.settle()
	return l
}
