package webenv

import (
	"math"
	"math/rand/v2"
)

// zipfSampler draws ranks 1 to n with probability proportional to k^(−beta), in O(1) expected time
// and without a table. It uses rejection-inversion (Hörmann and Derflinger 1996,
// "Rejection-inversion to generate variates from monotone discrete distributions"). That works
// because k^(−beta) is at most the integral of x^(−beta) over [k−½, k+½], as x^(−beta) is convex.
type zipfSampler struct {
	n          float64
	beta       float64
	low, high  float64 // range of the integral, from that of rank 1 to that of rank n
	alwaysNear float64 // a draw below its rank by at most this is always accepted
}

func newZipfSampler(n int, beta float64) zipfSampler {
	s := zipfSampler{n: float64(n), beta: beta}
	s.low = s.integral(1.5) - 1 // rank 1 gets its exact weight
	s.high = s.integral(s.n + 0.5)
	s.alwaysNear = 2 - s.inverse(s.integral(2.5)-math.Pow(2, -beta))
	return s
}

// rank draws a rank, from 0.
func (s *zipfSampler) rank(rng *rand.Rand) int {
	for {
		y := s.low + float64(rng.Float64()*(s.high-s.low))
		x := s.inverse(y)
		k := min(max(math.Round(x), 1), s.n)
		if k-x <= s.alwaysNear || y >= s.integral(k+0.5)-math.Pow(k, -s.beta) {
			return int(k) - 1
		}
	}
}

// integral is the integral of x^(−beta) from 1.
func (s *zipfSampler) integral(x float64) float64 {
	l := math.Log(x)
	if s.beta == 1 {
		return l
	}
	return math.Expm1((1-s.beta)*l) / (1 - s.beta)
}

// inverse is the inverse of integral.
func (s *zipfSampler) inverse(y float64) float64 {
	if s.beta == 1 {
		return math.Exp(y)
	}
	return math.Exp(math.Log1p((1-s.beta)*y) / (1 - s.beta))
}
