package solver

import (
	"cmp"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/heap"
	"github.com/recrawl/recrawl/schedule/internal/instance"
)

// A branching is the branch and bound for unrelated clients: best bound first, each node
// one more site bound to a client, with the relaxation as its bound, pairs whose reduced
// cost closes the gap left out, and a plan rounded from every relaxation.
type branching struct {
	x     *search
	relax *relaxation
	core  *core
	// target is the time up to which nodes are to be excluded now.
	target float64
	// share says how far from the bound to the best plan the target lies.
	share float64
	open  heap.Heap[*node]
	// free is the number of sites in a neighbourhood of the best plan, exhausted how many
	// of that size have been enumerated in full.
	free, exhausted int
	// near is the share of the way to the best plan up to which the root's core is enumerated.
	near float64
}

type node struct {
	parent *node
	site   int32
	client int32
	bound  float64
	depth  int32
	key    []int32 // key variables of the parent, from which to start
}

// Before orders nodes by bound; of equals the deepest comes first.
func (nd *node) Before(other *node) bool {
	return nd.bound < other.bound || nd.bound == other.bound && nd.depth > other.depth
}

// newBranching solves the relaxation at the root. A bisection looks for the least time t by
// which the relaxation, without pairs that take longer than t, ends: it is a lower bound
// too (Lenstra, Shmoys and Tardos 1990).
func newBranching(x *search) *branching {
	b := &branching{x: x, relax: newRelaxation(x.p, x.watch), share: mostShare, free: firstFree, near: rootStart}
	b.core = &core{x: x, relax: b.relax}
	for z, j := range x.best {
		b.relax.key[z] = int32(j)
	}
	root := b.relax.solve(x.lower, instance.Before(x.value))
	b.count()
	x.raise(min(root.bound, x.value))
	if !x.closed() {
		b.round(root)
	}
	// Invariant: no plan ends before low; the relaxation ends by high.
	low, high := x.lower, x.value
	for range rootBisections {
		if x.over() || high-low <= bisectionGap*high {
			break
		}
		t := low + float64((high-low)/2)
		if b.relax.solve(x.lower, t).bound > t {
			low = t
			x.raise(t)
		} else {
			high = t
		}
		b.count()
	}
	b.open = heap.Heap[*node]{{bound: x.lower, site: -1, key: slices.Clone(b.relax.key)}}
	return b
}

// cutoff is the bound from which on a node is of no use: what is left of it to the best
// plan counts as nothing.
func (b *branching) cutoff() float64 { return b.x.value * (1 - float64(b.x.cfg.Tolerance/2)) }

// run explores nodes for the given number of steps. The target comes nearer if that raises
// no bound, and moves away again if it does.
func (b *branching) run(steps int64) {
	x := b.x
	end := x.limit
	if steps < x.limit-x.steps {
		end = x.steps + steps
	}
	lower := x.lower
	defer func() {
		if x.lower > lower {
			b.share = min(2*b.share, mostShare)
		} else {
			b.share, b.target = max(b.share/1.5, leastShare), 0
		}
	}()
	for x.steps < end && !x.over() {
		if len(b.open) == 0 {
			x.raise(b.cutoff())
			return
		}
		// All plans not yet excluded lie below open nodes.
		x.raise(min(b.open[0].bound, b.cutoff()))
		if x.over() {
			return
		}
		b.explore(b.open.Pop(), steps/int64(coreShare))
		b.count()
	}
}

// root enumerates the root's core for the given number of steps, further up to the best plan
// where that took at most easy steps.
func (b *branching) root(steps, easy int64) {
	x := b.x
	for end := x.steps + steps; x.steps < end && !x.over(); {
		t, start := x.aim(b.near), x.steps
		switch v, plan := b.core.decide(t, end-start); v {
		case undecided:
			b.near /= 1.4
			return
		case fits:
			x.offer(plan)
		case fitsNot:
			x.raise(next(x.p, t, nil))
			if x.steps-start < easy {
				b.near = min(2*b.near, 1)
			}
		}
	}
}

// count adds the work of the relaxation to the steps of the search.
func (b *branching) count() {
	b.x.steps += b.relax.work + 1
	b.relax.work = 0
}

// next sets the target for the next nodes: plans that end by then are excluded before later
// ones, which are far more. It lies part of the way from the bound to the best plan, and
// the last of it is gone at once.
func (b *branching) next() {
	x := b.x
	if x.lower >= b.target || b.target >= x.value {
		b.target = x.aim(b.share)
		if x.value-x.lower <= lastStretch*x.value {
			b.target = instance.Before(x.value)
		}
	}
}

// explore raises the bound of a node to the target, or replaces the node by its children.
func (b *branching) explore(nd *node, coreSteps int64) {
	x, r := b.x, b.relax
	if nd.bound >= b.cutoff() {
		return
	}
	copy(r.key, nd.key)
	for a := nd; a.parent != nil; a = a.parent {
		r.fixed[a.site] = a.client
	}
	defer func() {
		for a := nd; a.parent != nil; a = a.parent {
			r.fixed[a.site] = -1
		}
	}()
	b.next()
	t := b.target
	excluded := b.snap(t) // the bound of a node without a plan that ends before t
	out := r.solve(x.lower, t)
	if b.snap(out.bound) >= min(t, b.cutoff()) {
		b.push(nd, excluded)
		return
	}
	b.round(out)
	if nd.parent == nil || x.rng.IntN(diveEvery) == 0 {
		b.dive(out)
	}
	if x.over() {
		b.open.Push(nd)
		return
	}
	switch v, plan := b.core.decide(t, coreSteps); v {
	case fits:
		x.offer(plan)
	case fitsNot:
		b.push(nd, excluded)
		return
	}
	out = b.core.out // of the same prices as the reduced costs below
	site := b.pick(out)
	if site < 0 {
		return // every site is fixed: round has evaluated the plan
	}
	key := slices.Clone(r.key)
	for j := range x.p.M {
		bound := excluded
		if r.allowed(site, j) {
			bound = min(excluded, b.snap(max(nd.bound, out.bound+float64(r.reduced(site, j)*(1-1e-12))-float64(out.bound*1e-15))))
		}
		b.push(&node{nd, int32(site), int32(j), nd.bound, nd.depth + 1, key}, bound)
	}
}

// push puts a node whose plans end no earlier than bound among the open ones, unless that
// closes it. A node excluded up to the best plan is closed.
func (b *branching) push(nd *node, bound float64) {
	nd.bound = max(nd.bound, bound)
	if nd.bound < b.cutoff() {
		b.open.Push(nd)
	}
}

// dive goes down one branch at random: it binds one divided site after another to a client,
// by chance in proportion to how the relaxation divides it, until nothing is divided any
// more or the branch cannot beat the best plan. The relaxation is left as it was.
func (b *branching) dive(out relaxed) {
	x, r := b.x, b.relax
	key, lambda := slices.Clone(r.key), slices.Clone(r.lambda)
	var bound []int32
	for len(out.split) > 0 && !x.over() {
		z := out.split[x.rng.IntN(len(out.split))]
		r.fixed[z] = r.sample(z, x.rng.Float64())
		bound = append(bound, z)
		out = r.solve(x.lower, instance.Before(x.value))
		b.count()
		if b.snap(out.bound) >= b.cutoff() {
			break
		}
	}
	if len(out.split) == 0 {
		b.round(out)
	}
	for _, z := range bound {
		r.fixed[z] = -1
	}
	copy(r.key, key)
	copy(r.lambda, lambda)
}

// snap rounds a bound up to the next time at which a client can finish at all.
func (b *branching) snap(bound float64) float64 {
	if math.IsInf(bound, 1) {
		return bound
	}
	return next(b.x.p, instance.Before(bound), nil)
}

// pick chooses the divided site that takes longest, or, the relaxation being integral but
// its plan no better than the best, the longest site still free.
func (b *branching) pick(out relaxed) int {
	r := b.relax
	site, longest := -1, 0.0
	consider := func(z int) {
		if d := r.time[z*r.m+int(r.key[z])]; r.fixed[z] < 0 && d > longest {
			site, longest = z, d
		}
	}
	for _, z := range out.split {
		consider(int(z))
	}
	if site < 0 {
		for z := range r.n {
			consider(z)
		}
	}
	return site
}

// round makes a plan of the relaxation: whole sites stay, divided ones go where they finish
// first, and local search does the rest.
func (b *branching) round(out relaxed) {
	x, r, p := b.x, b.relax, b.x.p
	plan := make([]int, p.N)
	load := make([]int64, p.M)
	for z, j := range r.key {
		plan[z] = int(j)
		if !slices.Contains(out.split, int32(z)) {
			load[j] += p.At(z, int(j))
		}
	}
	slices.SortStableFunc(out.split, func(a, c int32) int {
		return cmp.Compare(r.time[int(c)*r.m], r.time[int(a)*r.m])
	})
	for _, z := range out.split {
		j := p.Earliest(int(z), load)
		plan[z] = j
		load[j] += p.At(int(z), j)
	}
	x.construct(plan)
}
