package schedule

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
)

var dispatcherFormat = codec.Format{Magic: "recrawl/schedule.Dispatcher", Version: 1}

// AppendBinary appends the saved state to b. The problem and the config are not part of it.
func (d *Dispatcher) AppendBinary(b []byte) ([]byte, error) {
	return dispatcherFormat.Append(b, d.encode)
}

// MarshalBinary returns the saved state.
func (d *Dispatcher) MarshalBinary() ([]byte, error) { return d.AppendBinary(nil) }

// UnmarshalBinary restores the state of a dispatcher for the same problem into one made for
// it, by either constructor and with any plan. It goes on as the saved one would have.
// Corrupt data, or that of a problem with other numbers of sites or clients, gives
// ErrCorrupt and changes nothing.
func (d *Dispatcher) UnmarshalBinary(data []byte) error {
	return codec.Load(d, dispatcherFormat, data, func(to *Dispatcher, r *codec.Decoder) {
		*to = *newDispatcher(d.p, d.cfg)
		to.decode(r)
	})
}

func (d *Dispatcher) encode(w *codec.Encoder) {
	w.Int(d.p.n)
	w.Int(d.p.m)
	w.Float64(d.now)
	for _, list := range d.waiting() {
		w.Int(len(*list))
		for _, z := range *list {
			w.Uint32(uint32(z))
		}
	}
	for _, done := range d.done {
		w.Bool(done)
	}
	for j := range d.p.m {
		w.Int(int(d.holds[j]))
		w.Bool(d.gone[j])
		w.Bool(d.started[j])
		w.Int(d.probes[j])
	}
	w.Float64s(d.since)
	w.Float64s(d.actual)
	w.Float64s(d.planned)
	refused := slices.SortedFunc(maps.Keys(d.refused), func(a, b [2]int32) int {
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	w.Int(len(refused))
	for _, r := range refused {
		w.Uint32(uint32(r[0]))
		w.Uint32(uint32(r[1]))
	}
}

// waiting returns all lists of waiting sites.
func (d *Dispatcher) waiting() []*[]int32 {
	lists := []*[]int32{&d.pool, &d.back}
	for j := range d.queue {
		lists = append(lists, &d.queue[j])
	}
	return lists
}

// Where a site is, as decode finds it.
const (
	missing byte = iota
	waits
	isDone
	isHeld
)

// decode reads into a new dispatcher.
func (d *Dispatcher) decode(r *codec.Decoder) {
	n, m := d.p.n, d.p.m
	r.IntIn(n, n)
	r.IntIn(m, m)
	if d.now = r.Float64(); math.IsNaN(d.now) || math.IsInf(d.now, 1) {
		r.Fail("time %v", d.now)
	}
	where := make([]byte, n)
	for _, list := range d.waiting() {
		for _, z := range r.Uint32sIn(codec.AnyLen, uint32(n-1)) {
			r.Require(where[z] == missing, "site %d waits twice", z)
			where[z] = waits
			*list = append(*list, int32(z))
		}
	}
	for z := range d.done {
		if d.done[z] = r.Bool(); d.done[z] {
			r.Require(where[z] == missing, "site %d waits and is done", z)
			where[z] = isDone
			d.open--
		}
	}
	for j := range m {
		d.decodeClient(r, j, where)
	}
	r.Require(!slices.Contains(where, missing), "a site is missing")
	for _, to := range [][]float64{d.since, d.actual, d.planned} {
		copy(to, r.Float64sIn(m, -math.MaxFloat64, math.MaxFloat64))
	}
	for range r.Count(8) {
		j, z := r.Uint32(), r.Uint32()
		r.Require(j < uint32(m) && z < uint32(n), "client %d gave back site %d", j, z)
		d.refused[[2]int32{int32(j), int32(z)}] = struct{}{}
	}
}

// decodeClient reads what client j is doing.
func (d *Dispatcher) decodeClient(r *codec.Decoder, j int, where []byte) {
	z := r.IntIn(None, d.p.n-1)
	d.holds[j], d.gone[j], d.started[j], d.probes[j] = int32(z), r.Bool(), r.Bool(), r.IntIn(0, mostProbes+1)
	if z != None {
		r.Require(where[z] != waits, "client %d holds site %d, which waits", j, z)
		if where[z] == missing {
			where[z] = isHeld
		}
	}
	r.Require(!d.gone[j] || z == None && len(d.queue[j]) == 0, "removed client %d has sites", j)
}
