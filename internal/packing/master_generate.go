package packing

import (
	"context"
	"math"
	"slices"
)

// verdict is how generate came to an end.
type verdict int

const (
	optimal   verdict = iota // no pattern improves the duals
	enough                   // a stop rule held
	exceeded                 // the bound is above the target
	undecided                // the context ended, or the pricing gave up
)

// generate adds columns until the duals are optimal, or the bound shows that more
// than target bins are needed. With hasty set it also stops as soon as the
// fractional patterns are no more than target. It returns a valid lower bound.
func (s *master) generate(ctx context.Context, target int, hasty bool) (bound float64, v verdict) {
	for {
		s.primal(ctx)
		if s.failed || ctx.Err() != nil {
			return bound, undecided
		}
		z := s.bound()
		if hasty && z <= float64(target)+epsilon {
			return bound, enough
		}
		patterns, best, ok := s.pricer.price(s)
		if !ok {
			return bound, undecided
		}
		bound = max(bound, z/max(best, 1))
		if best <= 1+epsilon {
			return bound, optimal
		}
		if bound > float64(target)+boundMargin {
			return bound, exceeded
		}
		added := false
		for _, p := range patterns {
			if _, fresh := s.add(p); fresh {
				added = true
			}
		}
		if !added { // it was priced wrongly: numerical trouble
			s.refresh()
			if s.drift() > driftFatal || s.failed {
				return bound, undecided
			}
			return bound, optimal
		}
	}
}

// interior returns the mean of several optimal duals, got by perturbing the demand.
// The linear programme must be solved, and is solved again with the demand as
// it was.
func (s *master) interior(ctx context.Context, scale float64) []float64 {
	noise := slices.Clone(s.noise)
	mean := slices.Clone(s.dual)
	n := 1.0
	for range s.interiorDuals {
		s.perturb(scale)
		s.setDemand(ctx, s.demand)
		if _, v := s.generate(ctx, math.MaxInt, false); v != optimal {
			break
		}
		for j, d := range s.dual {
			mean[j] += d
		}
		n++
	}
	for j := range mean {
		mean[j] /= n
	}
	copy(s.noise, noise)
	s.setDemand(ctx, s.demand)
	return mean
}
