package binpack

import (
	"context"

	"github.com/recrawl/recrawl/internal/packing"
)

// hurryItems is how many items may be packed and bounded in full even after the context ended:
// that takes some milliseconds.
const hurryItems = 4096

// hurry answers a problem whose context is over before the work begins: in O(n), by [NextFit] and
// the bound of the sum. It declines where that would not be faster than the whole, or not find a
// packing.
func hurry(ctx context.Context, in *packing.Problem) (s packing.Solution, ok bool) {
	if ctx.Err() == nil || len(in.Weights) <= hurryItems || !in.Uniform || in.Conflicts != nil || in.Pins != nil {
		return s, false
	}
	s.Packing, _ = in.Pack(packing.NextFit)
	low, high := in.Weights, in.Capacities[0]
	if in.Low != nil {
		low, high = in.Low, in.High[0]
	}
	s.Certificate = packing.Certificate{Value: low, Max: high}
	if s.Lower = s.Certificate.Bound(); s.Lower == 0 { // all fit, and one bin is needed for them
		ones := make([]int64, len(low))
		for i := range ones {
			ones[i] = 1
		}
		s.Certificate, s.Lower = packing.Certificate{Value: ones, Max: int64(len(low))}, 1
	}
	s.Proved = s.Lower == s.Bins
	return s, true
}
