// Package petersen draws items for tests of bin packing that are packed in fractions only.
package petersen

import "math/rand/v2"

// Core draws 15 items for 3 full bins of c that can be packed in fractions but not whole (Caprara,
// Dell'Amico, Díaz, Iori & Rizzi 2015): the weight of an edge of the Petersen graph is the sum of
// those of its ends, so that its perfect matchings fill a bin, and no three of them are disjoint.
// That no other sets fill the bins is checked by trying all. (examples/binpack draws them, too, by
// what an importer of binpack has.)
func Core(rng *rand.Rand, c int) []int {
	for {
		var end [10]int
		sum := 0
		for v := range end {
			end[v] = c/20 + rng.IntN(c/10)
			sum += end[v]
		}
		if end[9] += c - sum; end[9] < c/40 {
			continue
		}
		var w []int
		for v := range 5 {
			w = append(w, end[v]+end[(v+1)%5], end[v]+end[v+5], end[v+5]+end[(v+2)%5+5])
		}
		if !threeBins(w, c) {
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
