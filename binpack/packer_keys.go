package binpack

import (
	"math"

	"github.com/recrawl/recrawl/binpack/internal/order"
)

// attach puts a site on a node; detach takes it off.
func (p *Packer) attach(s, n int) {
	if p.closing == n {
		p.closing = -1 // the node is needed again
	}
	if p.state[n].sites == 0 {
		p.opened++
	}
	p.home[s] = int32(n)
	for k := range p.resource {
		p.resource[k].attach(s, n)
	}
	p.state[n].sites++
	p.state[n].cost += p.moveCost(s)
	p.touch(n)
}

func (p *Packer) detach(s int) {
	n := int(p.home[s])
	for k := range p.resource {
		p.resource[k].detach(s, n)
	}
	p.state[n].sites--
	p.state[n].cost -= p.moveCost(s)
	p.touch(n)
}

// touch notes that the keys of a node in the trees are out of date. sync updates them, in O(log
// nodes) for each node.
func (p *Packer) touch(n int) {
	if !p.state[n].dirty {
		p.state[n].dirty = true
		p.dirty = append(p.dirty, int32(n))
	}
}

func (p *Packer) sync() {
	for _, n := range p.dirty {
		p.refresh(int(n))
	}
	p.dirty = p.dirty[:0]
}

// refresh updates the keys of a node in the trees.
func (p *Packer) refresh(n int) {
	s := &p.state[n]
	s.dirty = false
	live, used := p.nodes.Live(n) && !s.drained, s.sites > 0
	fill := p.fill(n, nil, 1)
	set := func(t *order.Tree, in bool, key float64) {
		if !in {
			key = math.Inf(1)
		}
		t.Set(n, key)
	}
	takes := live && used && p.closing != n && !s.leaving
	w := &p.resource[0]
	set(&p.emptiest, takes, fill)
	set(&p.roomiest, takes, -float64(w.capacity[n]-w.load[n]))
	set(&p.spares, live && !used, -float64(w.capacity[n]))
	set(&p.fullest, live && used, -fill)
	set(&p.cheapest, live && used && p.closing != n, float64(s.cost))
	set(&p.largest, live, -float64(w.capacity[n]))
}

// fill returns the share of its capacity that a node uses, for the resource that it uses most. The
// needs of a site are added before, or with sign −1 subtracted.
func (p *Packer) fill(n int, need []int64, sign int64) float64 {
	f := 0.
	for k := range p.resource {
		q := &p.resource[k]
		load := q.load[n]
		if need != nil {
			load += sign * need[k]
		}
		f = max(f, float64(load)/float64(q.capacity[n]))
	}
	return f
}

// needs returns what a site needs of each resource, valid until the next call.
func (p *Packer) needs(s int) []int64 {
	for k := range p.resource {
		p.need[k] = p.resource[k].weight[s]
	}
	return p.need
}
