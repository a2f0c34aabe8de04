package solver

import (
	"slices"

	"github.com/recrawl/recrawl/schedule/internal/instance"
)

// neighbourhoods looks for better plans near the best one for the given number of steps: it
// frees some sites at random, leaves the others where they are, and enumerates the core of
// what is left. Neighbourhoods grow while they are exhausted and shrink when they are too
// large for it. The relaxation is left as it was.
func (b *branching) neighbourhoods(steps int64) {
	x, r := b.x, b.relax
	end := x.limit
	if steps < x.limit-x.steps {
		end = x.steps + steps
	}
	key := slices.Clone(r.key)
	for x.steps < end && !x.over() {
		for z, j := range x.best {
			r.fixed[z], r.key[z] = int32(j), int32(j)
		}
		for _, z := range x.rng.Perm(x.p.N)[:min(b.free, x.p.N)] {
			r.fixed[z] = -1
		}
		t := instance.Before(x.value)
		switch v, plan := b.core.decide(t, int64(neighbourhoodSteps)); v {
		case fits:
			x.construct(plan)
		case fitsNot:
			if b.free >= x.p.N { // no site was left where it is
				x.raise(next(x.p, t, nil))
			}
			if b.exhausted++; b.exhausted == exhaust {
				b.free, b.exhausted = min(b.free+1, x.p.N), 0
			}
		case undecided:
			b.free, b.exhausted = max(b.free-1, leastFree), 0
		}
	}
	for z := range r.fixed {
		r.fixed[z] = -1
	}
	copy(r.key, key)
}
