package solver

import (
	"cmp"
	"math"
	"slices"
)

// A core decides whether unrelated clients can finish by a time t, by enumeration with the
// prices λ of the relaxation held fixed. With μ_z = min_j λ_j·d_zj every plan that ends by
// t has
//
//	Σ_z (λ_j·d_zj − μ_z) + Σ_j λ_j·idle_j = t − bound,
//
// where j is the client of z: what a site's client is dearer than its cheapest one, and
// what clients idle, together use up the gap exactly. Sites with one client whose reduced
// cost is within the gap are fixed there; the others, the core, are enumerated with the
// rest of the gap as budget.
type core struct {
	x     *search
	relax *relaxation
	out   relaxed // of the last decision
	sites []coreSite
	load  []int64 // with the sites not yet decided on their cheapest clients
	room  []int64 // capacity by t
	price []float64
	leave [][]rate // what leaving client j costs at least, for the sites from s on
	enter [][]rate // the same of entering it
	end   int64
	plan  []int
}

// A rate is the least cost per amount, and the least cost of a whole site.
type rate struct{ unit, whole float64 }

func (r *rate) include(o coreOption, amount int64) {
	r.unit = min(r.unit, o.cost/float64(amount))
	r.whole = min(r.whole, o.cost)
}

// of returns what an amount costs at least: some whole site has to move.
func (r rate) of(amount int64) float64 { return max(r.unit*float64(amount), r.whole) }

type coreSite struct {
	site    int
	options []coreOption // the cheapest first
}

type coreOption struct {
	client int
	amount int64
	cost   float64
}

// decide looks for a plan with makespan at most t, taking at most the given number of
// steps.
func (c *core) decide(t float64, steps int64) (verdict, []int) {
	x, r, p := c.x, c.relax, c.x.p
	c.end = x.steps + min(steps, x.limit-min(x.limit, x.steps))
	c.out = r.solve(x.lower, t)
	x.steps += r.work
	r.work = 0
	gap := t - c.out.bound
	if gap < 0 {
		return fitsNot, nil
	}
	gap += float64(coreMargin * t)
	c.load, c.room = make([]int64, p.M), make([]int64, p.M)
	c.price = make([]float64, p.M)
	for j := range c.room {
		c.room[j] = p.Capacity(j, t)
		c.price[j] = r.lambda[j] * p.Unit[j] * p.Grid
	}
	c.plan, c.sites = make([]int, p.N), c.sites[:0]
	for z := range p.N {
		s := coreSite{site: z}
		cheapest := math.Inf(1)
		for j := range p.M {
			if r.allowed(z, j) {
				cheapest = min(cheapest, r.lambda[j]*r.time[z*p.M+j])
			}
		}
		for j := range p.M {
			if cost := float64(r.lambda[j]*r.time[z*p.M+j]) - cheapest; r.allowed(z, j) && cost <= gap {
				s.options = append(s.options, coreOption{j, p.At(z, j), cost})
			}
		}
		slices.SortStableFunc(s.options, func(a, b coreOption) int { return cmp.Compare(a.cost, b.cost) })
		c.plan[z] = s.options[0].client
		c.load[c.plan[z]] += s.options[0].amount
		if len(s.options) > 1 {
			c.sites = append(c.sites, s)
		}
	}
	slices.SortStableFunc(c.sites, func(a, b coreSite) int { return cmp.Compare(b.options[0].amount, a.options[0].amount) })
	c.rates()
	v := c.search(0, gap)
	return v, c.plan
}

// rates computes leave and enter.
func (c *core) rates() {
	n, m := len(c.sites), c.x.p.M
	c.leave, c.enter = make([][]rate, n+1), make([][]rate, n+1)
	c.leave[n] = slices.Repeat([]rate{{math.Inf(1), math.Inf(1)}}, m)
	c.enter[n] = slices.Clone(c.leave[n])
	for s := n - 1; s >= 0; s-- {
		c.leave[s], c.enter[s] = slices.Clone(c.leave[s+1]), slices.Clone(c.enter[s+1])
		o := c.sites[s].options
		c.leave[s][o[0].client].include(o[1], o[0].amount)
		for _, to := range o[1:] {
			c.enter[s][to.client].include(to, to.amount)
		}
	}
}

// needs bounds from below what the sites from s on, and idling, still cost: a client with
// too much has to lose sites, one with room gets some or idles. A move has one source and
// one destination, so that the sum over either counts it once.
func (c *core) needs(s int) float64 {
	out, in := 0.0, 0.0
	for j, load := range c.load {
		if over := load - c.room[j]; over > 0 {
			out += c.leave[s][j].of(over)
		} else if over < 0 && load > 0 {
			idle := -over
			r := c.enter[s][j]
			in += max(min(c.price[j]*float64(idle), r.whole), min(c.price[j], r.unit)*float64(idle))
		}
	}
	return max(out, in)
}

// search decides about the sites from s on with this rest of the budget.
func (c *core) search(s int, budget float64) verdict {
	if c.x.steps++; c.x.steps >= c.end || c.x.watch.Spend(moveSteps+2*len(c.load)) {
		return undecided
	}
	if c.needs(s) > budget {
		return fitsNot
	}
	if s == len(c.sites) {
		for j, load := range c.load {
			if load > c.room[j] {
				return fitsNot
			}
		}
		return fits
	}
	site := &c.sites[s]
	base := site.options[0]
	for _, o := range site.options {
		if o.cost > budget {
			break
		}
		c.load[base.client] -= base.amount
		c.load[o.client] += o.amount
		c.plan[site.site] = o.client
		if v := c.search(s+1, budget-o.cost); v != fitsNot {
			return v
		}
		c.load[o.client] -= o.amount
		c.load[base.client] += base.amount
	}
	c.plan[site.site] = base.client
	return fitsNot
}
