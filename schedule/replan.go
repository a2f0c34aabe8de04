package schedule

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// Unplaced stands in an old plan for a site that is new, or whose client is
// gone.
const Unplaced = -1

// Replan makes a plan of an old one after sites, clients or durations changed:
// old gives for each site of the new problem its client so far, Unplaced for
// one that has none. Sites that are unplaced are put, the longest first, where
// they finish first; then local search moves and swaps sites for as long as that
// makes the last client finish earlier and at most maxMoved placed sites
// leave their clients. It returns the result, with the lower bound of the problem
// (that of plans that may move everything), and the number of placed sites
// moved. It takes O(n·m) per step.
func Replan(p *Problem, old Plan, maxMoved int) (Result, int, error) {
	if maxMoved < 0 {
		return Result{}, 0, fmt.Errorf("%w: %d sites to be moved", ErrLimit, maxMoved)
	}
	if len(old) != p.n {
		return Result{}, 0, fmt.Errorf("%w: %d sites, want %d", ErrPlan, len(old), p.n)
	}
	load := make([]int64, p.m)
	plan := slices.Clone(old)
	var fresh []int
	for z, j := range old {
		switch {
		case j == Unplaced:
			fresh = append(fresh, z)
		case j < 0 || j >= p.m:
			return Result{}, 0, fmt.Errorf("%w: site %d on client %d of %d", ErrPlan, z, j, p.m)
		default:
			load[j] += p.at(z, j)
		}
	}
	shortest := p.shortest()
	slices.SortStableFunc(fresh, func(a, b int) int { return cmp.Compare(shortest[b], shortest[a]) })
	for _, z := range fresh {
		plan[z] = p.earliest(z, load)
		load[plan[z]] += p.at(z, plan[z])
	}
	r := &replanner{state: newState(p, plan), old: old, limit: maxMoved}
	for r.step() {
	}
	stop := Finished
	if r.moved == maxMoved {
		stop = Limit
	}
	return p.result(r.state.plan(), LowerBound(p)+p.rounding, stop, r.state.ops), r.moved, nil
}

type replanner struct {
	state *state
	old   Plan
	moved int
	limit int
}

// cost is what moving site z to client j adds to the number of sites moved.
func (r *replanner) cost(z int32, j int) int {
	if r.old[z] == Unplaced {
		return 0
	}
	before, after := 0, 0
	if int(r.state.at[z]) != r.old[z] {
		before = 1
	}
	if j != r.old[z] {
		after = 1
	}
	return after - before
}

// step applies the move or swap of the last client's sites that makes the later
// of the two clients finish earliest, of those that the limit allows. The
// fewest sites moved win ties.
func (r *replanner) step() bool {
	s, p := r.state, r.state.p
	k := s.last()
	worse, cheapest := s.end[k], math.MaxInt
	to, out, in := -1, int32(-1), int32(-1)
	consider := func(e float64, cost, i int, a, b int32) {
		s.ops++
		if r.moved+cost <= r.limit && (e < worse || e == worse && to >= 0 && cost < cheapest) {
			worse, cheapest, to, out, in = e, cost, i, a, b
		}
	}
	for _, a := range s.jobs[k] {
		rest := s.load[k] - p.at(int(a), k)
		for i := range p.m {
			if i == k {
				continue
			}
			with := s.load[i] + p.at(int(a), i)
			cost := r.cost(a, i)
			consider(max(p.finish(k, rest), p.finish(i, with)), cost, i, a, -1)
			for _, b := range s.jobs[i] {
				e := max(p.finish(k, rest+p.at(int(b), k)), p.finish(i, with-p.at(int(b), i)))
				consider(e, cost+r.cost(b, k), i, a, b)
			}
		}
	}
	if to < 0 {
		return false
	}
	r.moved += r.cost(out, to)
	s.move(out, to)
	if in >= 0 {
		r.moved += r.cost(in, k)
		s.move(in, k)
	}
	return true
}
