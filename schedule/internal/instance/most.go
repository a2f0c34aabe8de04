package instance

import (
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/grid"
)

// clipFrom is the share of the longest time below which Most takes its place: only where that
// gains ten bits, so that durations of about one size are not touched.
const clipFrom = 0x1p-10

// above returns a power of two that is at least twice a makespan, +Inf if that is too large.
func above(makespan float64) float64 {
	if !(makespan < math.MaxFloat64/4) {
		return math.Inf(1)
	}
	return math.Ldexp(1, grid.Above(makespan)+1)
}

// alone returns when the client ends that ends first if it does all sites, on identical and
// uniform clients.
func (p *Instance) alone() float64 {
	soonest := math.Inf(1)
	for j := range p.M {
		soonest = min(soonest, p.Finish(j, p.Total))
	}
	return soonest
}

// shared returns a time by which some plan of identical or uniform clients ends. If each site in turn
// goes where it ends first, and the last one to end has size s, every client j would have ended that
// one at T or later: T ≤ Off[j] + Unit[j]·(load[j] + s). Summed over the clients,
//
//	T·Σ 1/Unit[j] ≤ Σ Off[j]/Unit[j] + sum of all sizes + (M−1)·s.
func (p *Instance) shared() float64 {
	work, speed := float64(p.Grid*float64(p.Total)), 0.0
	for j, u := range p.Unit {
		work += p.Off[j] / u
		speed += 1 / u
	}
	return (work + float64(float64(p.M-1)*slices.Max(p.size))) / speed
}

// place makes the plan of unrelated clients that begin at these times in which every site, in the
// order given, goes where it ends first, and returns its makespan.
func (p *Instance) place(off []float64) float64 {
	load, last := make([]float64, p.M), 0.0
	copy(load, off)
	p.greedy = make([]int32, p.N)
	for z := range p.N {
		client, soonest := -1, math.Inf(1)
		for j, d := range p.Durations(z) {
			if t := load[j] + d; t < soonest || client < 0 && d <= math.MaxFloat64 {
				client, soonest = j, t
			}
		}
		p.greedy[z] = int32(client)
		load[client] = soonest
		last = max(last, soonest)
	}
	return last
}

// Greedy returns the plan of unrelated clients in which every site, in the order given, goes where it
// ends first.
func (p *Instance) Greedy() []int {
	plan := make([]int, p.N)
	for z, j := range p.greedy {
		plan[z] = int(j)
	}
	return plan
}

// span returns the sum of the largest size of each site, and the exponent of the lowest bit set in
// any, with sizes above most taken for most. Sizes of +Inf do not count.
func (p *Instance) span(sizes []float64, most float64) (sum float64, low int) {
	low = math.MaxInt
	for z := range p.N {
		largest := 0.0
		for _, d := range row(p, sizes, z) {
			if !math.IsInf(d, 1) {
				d = min(d, most)
				largest = max(largest, d)
				low = min(low, grid.LastBit(d))
			}
		}
		sum += largest
	}
	return sum * (1 + 1e-9), low // whatever the summation lost: n·2⁻⁵³ of it, for n below 9 million
}
