package webenv

import "math"

// The local search for the optimum under congestion ends when no move gains more than the share
// optimumGain of its cost. That is above the rounding error of a sum of ten thousand durations
// (1e4·2⁻⁵³ ≈ 1e-12) and below any gain that matters.
const optimumGain = 1e-9

// Optimum returns the least total mean duration that it finds for a crawl of all sites, each from
// one access point, and that assignment. Without congestion it is exact: every site is at its
// perfect access point.
//
// With congestion it looks for the social optimum, in which a site also counts with the delay that
// it causes to others. It starts from three assignments: every site at its perfect access point,
// the sites dealt out by turns, and the sites placed one after another where the total grows least.
// From each it moves one site at a time until no move helps, and it returns the best result. With a
// handful of sites that can be several per cent above the least total. The more sites there are,
// the smaller is the gap.
//
// Time: O(Sites·Arms) for each of a few passes.
func (d *Durations) Optimum() (total float64, assignment []int) {
	starts := []func(i int, p *placement) int{
		func(i int, _ *placement) int { return d.Perfect(i) },
		func(i int, p *placement) int { return p.cheapest(i, math.Inf(1)) },
		func(i int, _ *placement) int { return i % d.cfg.Arms },
	}
	if d.cfg.Congestion == 0 {
		starts = starts[:1]
	}
	total = math.Inf(1)
	for _, start := range starts {
		p := placement{d: d, at: make([]int, d.Len()), load: make([]int, d.cfg.Arms), work: make([]float64, d.cfg.Arms)}
		for i := range p.at {
			p.add(i, start(i, &p))
		}
		for moved := d.cfg.Congestion > 0; moved; {
			moved = false
			for i, from := range p.at {
				before := p.cost(from)
				p.remove(i)
				// The gain must be larger than rounding errors, so that the passes end.
				best := p.cheapest(i, (before-p.cost(from))*(1-optimumGain))
				if best < 0 {
					best = from
				}
				p.add(i, best)
				moved = moved || best != from
			}
		}
		if t := p.total(); t < total {
			total, assignment = t, p.at
		}
	}
	return total, assignment
}

// A placement is an assignment under construction.
type placement struct {
	d    *Durations
	at   []int
	load []int
	work []float64 // of each arm: total of the mean durations without load
}

func (p *placement) add(i, arm int) {
	p.at[i] = arm
	p.load[arm]++
	p.work[arm] += p.d.alone(i, arm)
}

func (p *placement) remove(i int) {
	p.load[p.at[i]]--
	p.work[p.at[i]] -= p.d.alone(i, p.at[i])
}

// cost is the total mean duration from an arm.
func (p *placement) cost(arm int) float64 { return p.d.slowdown(arm, p.load[arm]) * p.work[arm] }

func (p *placement) total() (t float64) {
	for arm := range p.load {
		t += p.cost(arm)
	}
	return t
}

// cheapest returns the arm where adding a site adds least to the total, or -1 if none adds less
// than a limit.
func (p *placement) cheapest(i int, limit float64) int {
	best := -1
	for arm := range p.load {
		more := p.d.slowdown(arm, p.load[arm]+1)*(p.work[arm]+p.d.alone(i, arm)) - p.cost(arm)
		if more < limit {
			best, limit = arm, more
		}
	}
	return best
}
