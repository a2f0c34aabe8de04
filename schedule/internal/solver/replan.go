package solver

import (
	"math"

	"github.com/recrawl/recrawl/schedule/internal/instance"
)

// Replan improves a plan made of an old one, in which a negative client stands for none: local search
// moves and swaps sites for as long as that makes the last client finish earlier and at most maxMoved
// sites are on other clients than in the old plan. It returns the number of pairs looked at too.
func Replan(p *instance.Instance, old, plan []int, maxMoved int) (better []int, steps int64) {
	s, _ := newState(p, plan, nil)
	r := &replanner{state: s, old: old, moved: Moved(old, plan), limit: maxMoved}
	for r.step() {
	}
	return s.plan(), s.ops
}

// Moved returns the number of sites that have other clients than in an old plan, in which a negative
// client stands for none.
func Moved(old, plan []int) int {
	moved := 0
	for z, j := range old {
		if j >= 0 && plan[z] != j {
			moved++
		}
	}
	return moved
}

type replanner struct {
	state *state
	old   []int
	moved int
	limit int
}

// cost is what moving site z to client j adds to the number of sites moved.
func (r *replanner) cost(z int32, j int) int {
	if r.old[z] < 0 {
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

// step applies the move or swap of the last client's sites that makes the later of the two
// clients finish earliest, of those that the limit allows. The fewest sites moved win ties.
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
		rest := s.load[k] - p.At(int(a), k)
		for i := range p.M {
			if i == k {
				continue
			}
			with := s.load[i] + p.At(int(a), i)
			cost := r.cost(a, i)
			consider(max(p.Finish(k, rest), p.Finish(i, with)), cost, i, a, -1)
			for _, b := range s.jobs[i] {
				e := max(p.Finish(k, rest+p.At(int(b), k)), p.Finish(i, with-p.At(int(b), i)))
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
