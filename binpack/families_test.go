package binpack

import (
	"context"
	"math/rand/v2"
)

// The families of the usual benchmark collections, generated anew.

func between(rng *rand.Rand, n, low, high int) []int {
	w := make([]int, n)
	for i := range w {
		w[i] = low + rng.IntN(high-low+1)
	}
	return w
}

// falkenauerU draws n weights from 20..100 for bins of 150 (Falkenauer 1996).
func falkenauerU(rng *rand.Rand, n int) Problem[int] {
	return Problem[int]{Weights: between(rng, n, 20, 100), Capacity: 150}
}

// falkenauerT draws n/3 triplets that fill bins of 1000 exactly: one of 380..490,
// one of at least 250, the rest.
func falkenauerT(rng *rand.Rand, n int) Problem[int] {
	p := Problem[int]{Capacity: 1000}
	for range n / 3 {
		a := 380 + rng.IntN(111)
		b := 250 + rng.IntN((1000-a)/2-250+1)
		p.Weights = append(p.Weights, a, b, 1000-a-b)
	}
	rng.Shuffle(n, func(i, j int) { p.Weights[i], p.Weights[j] = p.Weights[j], p.Weights[i] })
	return p
}

// scholl1 draws n weights from low..100 for bins of c (Scholl, Klein & Jürgens 1997).
func scholl1(rng *rand.Rand, n, c, low int) Problem[int] {
	return Problem[int]{Weights: between(rng, n, low, 100), Capacity: c}
}

// scholl2 draws weights around 1000/perBin, up to the share away, for bins of 1000.
func scholl2(rng *rand.Rand, n, perBin int, share float64) Problem[int] {
	mean := 1000. / float64(perBin)
	return Problem[int]{Weights: between(rng, n, int(mean*(1-share))+1, int(mean*(1+share))), Capacity: 1000}
}

// schwerin draws n weights from 150..200 for bins of 1000 (Schwerin & Wäscher 1997).
func schwerin(rng *rand.Rand, n int) Problem[int] {
	return Problem[int]{Weights: between(rng, n, 150, 200), Capacity: 1000}
}

// uniform draws n weights from low·c..high·c for bins of c.
func uniform(rng *rand.Rand, n, c int, low, high float64) Problem[int] {
	return Problem[int]{Weights: between(rng, n, max(int(low*float64(c)), 1), int(high*float64(c))), Capacity: c}
}

// hard28 draws 160 to 200 weights from 1..800 for bins of 1000, little waste,
// until neither the heuristics nor the linear programme decide whether the last
// bin can be saved, as in Hard28 (Schoenfield 2002).
func hard28(rng *rand.Rand) Problem[int] {
	for {
		p := Problem[int]{Weights: between(rng, 160+20*rng.IntN(3), 1, 800), Capacity: 1000}
		sum := 0
		for _, w := range p.Weights {
			sum += w
		}
		if waste := (1000 - sum%1000) % 1000; waste > 100 {
			continue
		}
		if b, _ := LowerBounds(p); b.Best != (sum+999)/1000 {
			continue
		}
		if s, _ := Solve(context.Background(), p, SolveConfig{Nodes: 1}); !s.Proved {
			return p
		}
	}
}
