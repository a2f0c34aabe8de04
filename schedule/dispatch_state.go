package schedule

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
)

var dispatcherFormat = codec.Format{Magic: "recrawl/schedule.Dispatcher", Version: 3}

// MarshalBinary returns the saved state, with the sites and clients that were added. The
// problem and the config are not part of it.
func (d *Dispatcher) MarshalBinary() ([]byte, error) { return dispatcherFormat.Save(d.made().encode) }

// made returns d. It panics if d is a zero value.
func (d *Dispatcher) made() *Dispatcher {
	if d.p == nil {
		panic("schedule: a Dispatcher that is a zero value: make it with NewDispatcher or NewPullDispatcher")
	}
	return d
}

// UnmarshalBinary restores a saved state into a dispatcher made for the same problem, by either
// constructor and with any plan. The dispatcher then continues as the saved one would have. The
// error is ErrCorrupt for corrupt data and for data of a problem with other numbers of sites or
// clients; it changes nothing. The error is ErrProblem for a dispatcher that no constructor made.
func (d *Dispatcher) UnmarshalBinary(data []byte) error {
	if d.p == nil {
		return fmt.Errorf("%w: restore into a Dispatcher made for it", ErrProblem)
	}
	return codec.Load(d, dispatcherFormat, data, func(to *Dispatcher, r *codec.Decoder) {
		*to = *newDispatcher(d.p, d.cfg)
		to.decode(r)
	})
}

func (d *Dispatcher) encode(w *codec.Encoder) {
	d.fleet.encode(w)
	w.Float64(d.now)
	w.Int(d.replaned)
	w.Int(d.owed)
	w.Float64(d.all.actual)
	w.Float64(d.all.planned)
	w.Float64(d.misses.squares)
	w.Int(d.misses.count)
	w.Int(d.pool.left)
	for _, z := range d.pool.sites {
		if z != None {
			w.Uint32(uint32(z))
		}
	}
	for _, list := range d.lists() {
		w.Int(len(*list))
		for _, z := range *list {
			w.Uint32(uint32(z))
		}
	}
	for _, done := range d.done {
		w.Bool(done)
	}
	for _, c := range d.client {
		w.Int(int(c.holds))
		w.Float64(c.since)
		w.Bool(c.gone)
		w.Bool(c.silent)
		w.Bool(c.started)
		w.Float64(c.pace.actual)
		w.Float64(c.pace.planned)
		w.Int(c.probes)
	}
	refused := slices.SortedFunc(maps.Keys(d.refused), func(a, b [2]int32) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	w.Int(len(refused))
	for _, r := range refused {
		w.Uint32(uint32(r[0]))
		w.Uint32(uint32(r[1]))
	}
}

func (f *fleet) encode(w *codec.Encoder) {
	w.Int(f.p.n)
	w.Int(f.p.m)
	if !f.p.unrelated {
		w.Float64s(f.size[f.p.n:])
		w.Float64s(f.unit[f.p.m:])
		return
	}
	w.Int(len(f.rows))
	w.Int(len(f.columns))
	for _, times := range [][][]float64{f.rows, f.columns} {
		for _, t := range times {
			w.Float64s(t)
		}
	}
}

// decode reads into a new fleet.
func (f *fleet) decode(r *codec.Decoder) {
	n, m := f.p.n, f.p.m
	r.IntIn(n, n)
	r.IntIn(m, m)
	inf := math.Inf(1)
	if !f.p.unrelated {
		f.size = append(f.size, r.Float64sIn(codec.AnyLen, leastDuration, math.MaxFloat64)...)
		f.unit = append(f.unit, r.Float64sIn(codec.AnyLen, leastDuration, math.MaxFloat64)...)
		f.n, f.m = len(f.size), len(f.unit)
		size, unit := slices.Min(f.size), slices.Min(f.unit)
		r.Require(size*unit >= leastDuration, "a size of %v at %v per unit", size, unit)
		size, unit = slices.Max(f.size), slices.Max(f.unit)
		r.Require(!math.IsInf(size*unit, 1), "a size of %v at %v per unit", size, unit)
		return
	}
	rows, columns := r.Count(8), r.Count(8)
	for range rows {
		f.rows = append(f.rows, r.Float64sIn(m+columns, leastDuration, inf))
	}
	for range columns {
		f.columns = append(f.columns, r.Float64sIn(n, leastDuration, inf))
	}
	f.n, f.m = n+rows, m+columns
}

// lists returns all lists of waiting sites but the pool.
func (d *Dispatcher) lists() []*[]int32 {
	lists := []*[]int32{&d.back}
	for j := range d.queue {
		lists = append(lists, &d.queue[j])
	}
	return lists
}

// decode reads into a new dispatcher.
func (d *Dispatcher) decode(r *codec.Decoder) {
	if d.fleet.decode(r); r.Err() != nil {
		return
	}
	n, m := d.n, d.m
	d.queue, d.client, d.waits, d.done = make([][]int32, m), make([]clientState, m), make([]bool, n), make([]bool, n)
	d.open = n
	if d.now = r.Float64(); math.IsNaN(d.now) || math.IsInf(d.now, 1) {
		r.Fail("time %v", d.now)
	}
	d.replaned, d.owed = r.IntIn(0, codec.MostCount), r.IntIn(0, codec.MostCount)
	d.all = pace{r.NonNegative(), r.NonNegative()}
	d.misses = misses{r.NonNegative(), r.IntIn(0, codec.MostCount)}
	d.pool = newPool(m)
	waiting := func(add func(z int32)) {
		for _, z := range r.Uint32sIn(codec.AnyLen, uint32(n-1)) {
			r.Require(!d.waits[z], "site %d waits twice", z)
			d.waits[z] = true
			d.waiting++
			add(int32(z))
		}
	}
	waiting(d.pool.add)
	pooled := slices.Clone(d.waits) // a site that was held is no longer in the pool
	for _, list := range d.lists() {
		waiting(func(z int32) { *list = append(*list, z) })
	}
	for z := range d.done {
		if d.done[z] = r.Bool(); d.done[z] {
			r.Require(!d.waits[z], "site %d waits and is done", z)
			d.open--
		}
	}
	held := make([]bool, n) // whether a client that is not silent holds the site
	for j := range m {
		d.client[j] = decodeClient(r, n)
		c := &d.client[j]
		if c.holds != None && !c.silent {
			r.Require(!d.waits[c.holds], "client %d holds site %d, which waits", j, c.holds)
			held[c.holds] = true
		}
		r.Require(!c.silent || c.holds == None || !pooled[c.holds], "client %d holds site %d, which nobody was given", j, c.holds)
		r.Require(!c.gone || len(d.queue[j]) == 0, "removed client %d has sites", j)
	}
	for z := range held {
		r.Require(held[z] || d.waits[z] || d.done[z], "site %d is missing", z)
	}
	for range r.Count(8) {
		j, z := r.Uint32(), r.Uint32()
		r.Require(j < uint32(m) && z < uint32(n), "client %d gave back site %d", j, z)
		d.refused[[2]int32{int32(j), int32(z)}] = struct{}{}
	}
}

// decodeClient reads the state of a client.
func decodeClient(r *codec.Decoder, sites int) clientState {
	c := clientState{holds: int32(r.IntIn(None, sites-1)), since: r.Finite(), gone: r.Bool(), silent: r.Bool(),
		started: r.Bool(), pace: pace{r.NonNegative(), r.NonNegative()}, probes: r.IntIn(0, mostProbes+1)}
	r.Require(c.holds != None || !c.silent, "a client is silent that holds no site")
	r.Require(c.holds == None || !c.gone, "a removed client holds site %d", c.holds)
	return c
}
