package binpack

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/ids"
	"github.com/recrawl/recrawl/internal/packing"
)

const (
	packerMagic   = "recrawl/binpack.Packer"
	packerVersion = 1
)

// AppendBinary appends the state of the packer to b.
func (p *Packer) AppendBinary(b []byte) ([]byte, error) {
	e := codec.NewEncoder(b, packerMagic, packerVersion)
	e.Byte(byte(p.cfg.Policy))
	e.Float64(p.cfg.Headroom)
	e.Float64(p.cfg.Early)
	e.Float64(p.cfg.Margin)
	e.Float64(p.cfg.Disruption)
	e.Float64(p.cfg.Quantum)
	e.Float64(p.volatility)
	e.Int(p.measured)
	p.sites.Encode(e)
	p.nodes.Encode(e)
	weight := make([]uint64, len(p.weight))
	for s, w := range p.weight {
		weight[s] = uint64(w)
	}
	e.Uint64s(weight)
	for n, c := range p.capacity {
		e.Uint64(uint64(c))
		e.Uint64(uint64(p.change[n]))
		e.Bool(p.drained[n])
		list := make([]uint32, len(p.list[n]))
		for k, s := range p.list[n] {
			list[k] = uint32(s)
		}
		e.Uint32s(list) // their order decides between equals
	}
	return e.Finish()
}

// MarshalBinary returns the state of the packer.
func (p *Packer) MarshalBinary() ([]byte, error) { return p.AppendBinary(nil) }

// UnmarshalBinary restores a packer, which goes on as the saved one would have. If
// it fails nothing changes.
func (p *Packer) UnmarshalBinary(data []byte) error {
	d, err := codec.NewDecoder(data, packerMagic, packerVersion)
	if err != nil {
		return err
	}
	cfg := PackerConfig{Policy: Policy(d.Byte()), Headroom: d.Float64(), Early: d.Float64(), Margin: d.Float64(), Disruption: d.Float64(), Quantum: d.Float64()}
	volatility, measured := d.Float64(), d.Int()
	sites, nodes := ids.Decode(d), ids.Decode(d)
	weight := d.Uint64s()
	if d.Err() != nil {
		return d.Err()
	}
	r, err := NewPacker(cfg)
	if err != nil {
		d.Fail("%v", err)
		return d.Err()
	}
	if !(volatility >= 0) || math.IsInf(volatility, 1) || measured < 0 || measured > volatilityCalls {
		d.Fail("volatility %v, measured %d times", volatility, measured)
		return d.Err()
	}
	if len(weight) != sites.Slots() || nodes.Slots() > len(data) {
		d.Fail("%d weights, %d sites, %d nodes", len(weight), sites.Slots(), nodes.Slots())
		return d.Err()
	}
	r.sites, r.nodes, r.volatility, r.measured = sites, nodes, volatility, measured
	r.weight, r.home, r.place = make([]int64, len(weight)), make([]int32, len(weight)), make([]int32, len(weight))
	for s, w := range weight {
		if w > 1<<50 {
			d.Fail("weight %d of site %d", w, s)
		}
		r.weight[s] = int64(w)
	}
	seen := make([]bool, len(weight))
	found := 0
	for n := range nodes.Slots() {
		capacity, change, drained, list := d.Uint64(), int64(d.Uint64()), d.Bool(), d.Uint32s()
		if capacity == 0 || capacity > 1<<50 || len(list) > 0 && !nodes.Live(n) {
			d.Fail("node %d: capacity %d, %d sites", n, capacity, len(list))
		}
		if d.Err() != nil {
			return d.Err()
		}
		r.capacity, r.load = append(r.capacity, int64(capacity)), append(r.load, 0)
		r.drained, r.list, r.change = append(r.drained, drained), append(r.list, nil), append(r.change, change)
		for _, s := range list {
			if int(s) >= len(seen) || seen[s] || !sites.Live(int(s)) {
				d.Fail("site %d on node %d", s, n)
				return d.Err()
			}
			if r.weight[s] > packing.MaxTotal-r.total {
				d.Fail("site %d of weight %d", s, r.weight[s])
				return d.Err()
			}
			r.total += r.weight[s]
			seen[s] = true
			found++
			r.attach(int(s), n)
		}
	}
	if found != sites.Len() {
		d.Fail("%d of %d sites are on a node", found, sites.Len())
	}
	if err := d.Done(); err != nil {
		return err
	}
	*p = *r
	return nil
}
