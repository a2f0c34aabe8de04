package binpack

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/ids"
	"github.com/recrawl/recrawl/internal/packing"
)

var packerFormat = codec.Format{Magic: "recrawl/binpack.Packer", Version: 1}

// AppendBinary appends the state of the packer to b.
func (p *Packer) AppendBinary(b []byte) ([]byte, error) { return packerFormat.Append(b, p.encode) }

// MarshalBinary returns the state of the packer.
func (p *Packer) MarshalBinary() ([]byte, error) { return p.AppendBinary(nil) }

// UnmarshalBinary restores a packer, which goes on as the saved one would have. If it fails
// nothing changes.
func (p *Packer) UnmarshalBinary(data []byte) error {
	return codec.Load(p, packerFormat, data, (*Packer).decode)
}

func (p *Packer) encode(e *codec.Encoder) {
	e.Bool(p.cfg.KeepMaximum)
	e.Float64(p.cfg.Headroom)
	e.Float64(p.cfg.Early)
	e.Float64(p.cfg.Margin)
	e.Float64(p.cfg.Disruption)
	e.Float64(p.cfg.Quantum)
	e.Float64(p.volatility)
	e.Int(p.measured)
	p.sites.Encode(e)
	p.nodes.Encode(e)
	e.Int(len(p.weight))
	for _, w := range p.weight {
		e.Uint64(uint64(w))
	}
	for n, c := range p.capacity {
		e.Uint64(uint64(c))
		e.Uint64(uint64(p.change[n]))
		e.Bool(p.drained[n])
		e.Int(len(p.list[n]))
		for _, s := range p.list[n] { // their order decides between equals
			e.Uint32(uint32(s))
		}
	}
}

func (p *Packer) decode(d *codec.Decoder) {
	p.cfg = PackerConfig{
		KeepMaximum: d.Bool(),
		Headroom:    d.Float64(),
		Early:       d.Float64(),
		Margin:      d.Float64(),
		Disruption:  d.Float64(),
		Quantum:     d.Float64(),
	}
	d.Check(p.cfg.check())
	p.volatility = d.NonNegative()
	p.measured = d.IntIn(0, volatilityCalls)
	p.sites, p.nodes = ids.Decode(d), ids.Decode(d)
	sites := d.Count(8)
	d.Require(sites == p.sites.Slots(), "%d weights of %d sites", sites, p.sites.Slots())
	for range sites {
		p.weight = append(p.weight, d.Int64In(0, mostQuanta))
	}
	p.home, p.place = make([]int32, sites), make([]int32, sites)
	placed := make([]bool, sites)
	for n := 0; n < p.nodes.Slots() && d.Err() == nil; n++ {
		p.capacity = append(p.capacity, d.Int64In(1, mostQuanta))
		p.change = append(p.change, d.Int64In(math.MinInt64, math.MaxInt64))
		p.drained = append(p.drained, d.Bool())
		p.load, p.list = append(p.load, 0), append(p.list, nil)
		for range d.Count(4) {
			p.decodeSite(d, n, placed)
		}
	}
	for s, ok := range placed {
		d.Require(ok == p.sites.Live(s), "slot %d of a site is on a node: %v", s, ok)
	}
}

// decodeSite reads a site of node slot n.
func (p *Packer) decodeSite(d *codec.Decoder, n int, placed []bool) {
	s := int(d.Uint32())
	if d.Err() != nil {
		return
	}
	if s >= len(placed) || placed[s] || !p.nodes.Live(n) || p.weight[s] > packing.MaxTotal-p.total {
		d.Fail("site %d on node %d", s, n)
		return
	}
	placed[s] = true
	p.total += p.weight[s]
	p.attach(s, n)
}
