package binpack

import (
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/ids"
	"github.com/recrawl/recrawl/internal/packing"
)

var packerFormat = codec.Format{Magic: "recrawl/binpack.Packer", Version: 4}

// MarshalBinary returns the state of the packer.
func (p *Packer) MarshalBinary() ([]byte, error) { return packerFormat.Save(p.encode) }

// UnmarshalBinary restores a packer, which then continues as the saved one would have. If it fails,
// nothing changes.
func (p *Packer) UnmarshalBinary(data []byte) error {
	return codec.Load(p, packerFormat, data, (*Packer).decode)
}

func (p *Packer) encode(e *codec.Encoder) {
	c := p.cfg
	e.Bool(c.KeepMaximum)
	for _, x := range [...]float64{c.Headroom, c.Early, c.MoveCost, c.NodeCost, c.Quantum} {
		e.Float64(x)
	}
	e.Int(c.Resources)
	e.Float64(p.volatility)
	e.Int(p.measured)
	e.Int(len(p.spells))
	for _, s := range p.spells {
		e.Int(s.nodes)
		e.Float64(s.cost)
	}
	e.Int(p.opened)
	e.Float64(p.saved)
	e.Float64(p.surplus)
	e.Float64(p.owed)
	e.Int(p.debt)
	e.Int(p.closing)
	p.sites.Encode(e)
	p.nodes.Encode(e)
	for _, s := range p.state {
		e.Int(s.zone)
		e.Bool(s.drained)
	}
	for k := range p.resource {
		q := &p.resource[k]
		e.Bool(q.known)
		e.Int(q.exp)
		for _, w := range q.weight {
			e.Uint64(uint64(w))
		}
		for n, c := range q.capacity {
			e.Uint64(uint64(c))
			e.Uint64(uint64(q.change[n]))
			var sites []uint32 // the order of sites decides between equal ones
			q.sites.All(n, func(s int) bool { sites = append(sites, uint32(s)); return true })
			e.Uint32s(sites)
		}
	}
	p.encodeRules(e)
}

func (p *Packer) encodeRules(e *codec.Encoder) {
	e.Int(len(p.rules))
	for s := range p.home {
		r := p.rules[int32(s)]
		if r == nil {
			continue
		}
		e.Uint32(uint32(s))
		e.Int(r.group)
		e.Bool(r.zones)
		e.Int(r.zone)
		e.Ints(r.only)
		e.Ints(r.never)
		e.Int(int(r.cost))
	}
	e.Int(len(p.unruly))
	for _, s := range p.unruly {
		e.Uint32(uint32(s))
	}
}

func (p *Packer) decode(d *codec.Decoder) {
	c := PackerConfig{KeepMaximum: d.Bool()}
	for _, x := range [...]*float64{&c.Headroom, &c.Early, &c.MoveCost, &c.NodeCost, &c.Quantum} {
		*x = d.Float64()
	}
	c.Resources = d.IntIn(0, mostResources)
	if d.Check(c.check()); d.Err() != nil {
		return
	}
	*p = *newPacker(c)
	p.volatility = d.NonNegative()
	p.measured = d.IntIn(0, volatilityCalls)
	p.decodeSpells(d)
	p.opened = d.IntIn(0, math.MaxInt/2) // it may still rise
	p.saved, p.surplus, p.owed = d.NonNegative(), d.Float64In(0, math.MaxInt32), d.NonNegative()
	p.debt = d.IntIn(math.MinInt32, math.MaxInt32)
	p.closing = d.IntIn(-1, math.MaxInt32)
	p.sites, p.nodes = ids.Decode(d), ids.Decode(d)
	for n := 0; n < p.nodes.Slots() && d.Err() == nil; n++ {
		p.state = append(p.state, nodeState{zone: d.Int(), drained: d.Bool()})
	}
	d.Require(p.closing < len(p.state), "node slot %d of %d is being closed", p.closing, len(p.state))
	for k := range p.resource {
		p.decodeResource(d, k)
	}
	if d.Err() != nil {
		return
	}
	p.decodeRules(d)
	p.growTrees(len(p.state))
	for n := range p.state {
		p.touch(n)
	}
}

func (p *Packer) decodeSpells(d *codec.Decoder) {
	nodes, most := 0, math.MaxFloat64
	for range d.Count(16) {
		s := spell{d.IntIn(1, math.MaxInt32-nodes), d.Float64In(0, most)}
		if d.Err() != nil {
			return
		}
		nodes += s.nodes
		most = s.cost
		p.spells = append(p.spells, s)
	}
}

// decodeResource reads resource k. The first one says where the sites are.
func (p *Packer) decodeResource(d *codec.Decoder, k int) {
	q := &p.resource[k]
	q.known = d.Bool()
	q.exp = d.IntIn(leastExp, mostExp)
	slots := p.sites.Slots()
	for len(q.weight) < slots && d.Err() == nil {
		w := d.Int64In(0, mostQuanta)
		if d.Require(w <= packing.MaxTotal-q.total, "weights add up to more than 2^62"); d.Err() != nil {
			return
		}
		q.total += w
		q.weight = append(q.weight, w)
	}
	if d.Err() != nil { // the number of sites may be anything
		return
	}
	placed := make([]bool, slots)
	if k == 0 {
		p.home = make([]int32, slots)
	}
	q.grow(slots, 0)
	for n := 0; n < len(p.state) && d.Err() == nil; n++ {
		q.grow(0, n+1)
		q.capacity[n] = d.Int64In(1, unlimited)
		d.Require(q.capacity[n] <= mostQuanta || k > 0 && q.capacity[n] == unlimited, "a capacity of %d", q.capacity[n])
		q.change[n] = d.Int64In(math.MinInt64, math.MaxInt64)
		sites := d.Uint32s()
		for _, u := range sites {
			s := int(u)
			if s >= slots || placed[s] || !p.nodes.Live(n) || k > 0 && int(p.home[s]) != n {
				d.Fail("site %d on node %d", s, n)
				return
			}
			placed[s] = true
			q.attach(s, n)
			if k == 0 {
				p.home[s] = int32(n)
				p.state[n].sites++
				p.state[n].cost += moveUnits
			}
		}
		q.sites.All(n, func(s int) bool {
			d.Require(int(sites[0]) == s, "site %d of node %d out of order", s, n)
			sites = sites[1:]
			return true
		})
	}
	for s, ok := range placed {
		d.Require(ok == p.sites.Live(s), "slot %d of a site is on a node: %v", s, ok)
		d.Require(ok || q.weight[s] == 0, "slot %d of no site has a weight", s)
	}
}

func (p *Packer) decodeRules(d *codec.Decoder) {
	last := -1
	for range d.Count(4) {
		s := int(d.Uint32())
		r := &rule{d.Int(), d.Bool(), d.Int(), d.Ints(), d.Ints(), int64(d.IntIn(0, mostMoveCost*moveUnits))}
		if d.Err() != nil {
			return
		}
		if s <= last || s >= len(p.home) || !p.sites.Live(s) {
			d.Fail("a rule of site %d", s)
			return
		}
		last = s
		n := p.home[s]
		p.state[n].cost += r.cost - moveUnits
		p.setRule(s, r)
	}
	for range d.Count(4) {
		s := d.Uint32()
		d.Require(int(s) < len(p.home), "site %d may break its rule", s)
		p.list(int32(s))
	}
	p.unruly = slices.Clip(p.unruly)
}
