// Package petersen draws items that are packed in fractions only, for tests and examples of bin packing.
package petersen

import "math/rand/v2"

// Edges draws the weights of the ends of the Petersen graph, and those of its edges, which are the
// sums of their ends: its perfect matchings fill a bin of c each, and no three of them are disjoint
// (Caprara, Dell'Amico, Díaz, Iori & Rizzi 2015).
func Edges(rng *rand.Rand, c int) (end [10]int, w []int) {
	for {
		sum := 0
		for v := range end {
			end[v] = c/20 + rng.IntN(c/10)
			sum += end[v]
		}
		if end[9] += c - sum; end[9] >= c/40 {
			break
		}
	}
	for v := range 5 {
		w = append(w, end[v]+end[(v+1)%5], end[v]+end[v+5], end[v+5]+end[(v+2)%5+5])
	}
	return end, w
}

// Core draws edges of which no other sets fill 3 bins, either, so that they can be packed in
// fractions but not whole: it tries all.
func Core(rng *rand.Rand, c int) []int {
	for {
		if _, w := Edges(rng, c); !threeBins(w, c) {
			return w
		}
	}
}

// threeBins reports whether items fit into three bins, by trying every assignment.
func threeBins(w []int, c int) bool {
	var load [3]int
	var place func(i int) bool
	place = func(i int) bool {
		if i == len(w) {
			return true
		}
		for b := range load {
			if load[b]+w[i] <= c {
				load[b] += w[i]
				if place(i + 1) {
					return true
				}
				load[b] -= w[i]
			}
			if load[b] == 0 {
				break
			}
		}
		return false
	}
	return place(0)
}
