package schedule

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
)

const (
	dispatcherMagic   = "schedule.Dispatcher"
	dispatcherVersion = 1
)

// AppendBinary appends the saved state to b. The problem and the policy are not
// part of it.
func (d *Dispatcher) AppendBinary(b []byte) ([]byte, error) {
	w := codec.NewEncoder(b, dispatcherMagic, dispatcherVersion)
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
	return w.Finish()
}

// waiting returns all lists of waiting sites.
func (d *Dispatcher) waiting() []*[]int32 {
	lists := []*[]int32{&d.pool, &d.back}
	for j := range d.queue {
		lists = append(lists, &d.queue[j])
	}
	return lists
}

// MarshalBinary returns the saved state.
func (d *Dispatcher) MarshalBinary() ([]byte, error) { return d.AppendBinary(nil) }

// UnmarshalBinary restores the state of a dispatcher for the same problem into
// one made for it, by either constructor and with any plan. It goes on as the
// saved one would have. Corrupt data, or that of a problem with other numbers
// of sites or clients, gives ErrCorrupt and changes nothing.
func (d *Dispatcher) UnmarshalBinary(data []byte) error {
	r, err := codec.NewDecoder(data, dispatcherMagic, dispatcherVersion)
	if err != nil {
		return err
	}
	p := d.p
	if n, m := r.Int(), r.Int(); n != p.n || m != p.m {
		r.Fail("%d sites and %d clients, want %d and %d", n, m, p.n, p.m)
		return r.Done()
	}
	n := newDispatcher(p, d.policy)
	if n.now = r.Float64(); math.IsNaN(n.now) || math.IsInf(n.now, 1) {
		r.Fail("time %v", n.now)
	}
	seen := make([]bool, p.n) // sites accounted for: waiting, done or held
	for _, list := range n.waiting() {
		count := r.Int()
		if count < 0 || count > p.n {
			r.Fail("%d sites wait", count)
			return r.Done()
		}
		for range count {
			z := r.Uint32()
			if z >= uint32(p.n) || seen[z] {
				r.Fail("site %d waits twice or does not exist", z)
				return r.Done()
			}
			seen[z] = true
			*list = append(*list, int32(z))
		}
	}
	for z := range n.done {
		if n.done[z] = r.Bool(); n.done[z] {
			if seen[z] {
				r.Fail("site %d waits and is done", z)
			}
			n.open--
		}
	}
	held := make([]bool, p.n)
	for j := range p.m {
		z := r.Int()
		if z < NoSite || z >= p.n || z >= 0 && seen[z] {
			r.Fail("client %d holds site %d", j, z)
			return r.Done()
		}
		if z >= 0 {
			held[z] = true
		}
		n.holds[j], n.gone[j], n.started[j] = int32(z), r.Bool(), r.Bool()
		if n.probes[j] = r.Int(); n.probes[j] < 0 || n.probes[j] > mostProbes+1 {
			r.Fail("client %d has %d short sites to do", j, n.probes[j])
		}
		if n.gone[j] && (z >= 0 || len(n.queue[j]) > 0) {
			r.Fail("lost client %d has sites", j)
		}
	}
	for z := range seen {
		if !seen[z] && !n.done[z] && !held[z] {
			r.Fail("site %d is missing", z)
		}
	}
	for _, to := range [][]float64{n.since, n.actual, n.planned} {
		v := r.Float64s()
		if len(v) != p.m {
			r.Fail("%d values for %d clients", len(v), p.m)
		}
		for _, x := range v {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				r.Fail("value %v", x)
			}
		}
		copy(to, v)
	}
	count := r.Int()
	if count < 0 || count > len(data)/8 {
		r.Fail("%d refusals", count)
		return r.Done()
	}
	for range count {
		j, z := r.Uint32(), r.Uint32()
		if j >= uint32(p.m) || z >= uint32(p.n) {
			r.Fail("client %d refuses site %d", j, z)
		}
		n.refused[[2]int32{int32(j), int32(z)}] = struct{}{}
	}
	if err := r.Done(); err != nil {
		return err
	}
	*d = *n
	return nil
}
