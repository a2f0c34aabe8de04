package binpack

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// BenchmarkPack puts the rules beside sorting the weights, in the same run.
func BenchmarkPack(b *testing.B) {
	for _, n := range []int{1000, 1_000_000} {
		rng := rand.New(rand.NewPCG(1, 2))
		w := make([]float64, n)
		for i := range w {
			w[i] = rng.Float64()
		}
		b.Run(fmt.Sprintf("sort/n=%d", n), func(b *testing.B) {
			c := make([]float64, n)
			for b.Loop() {
				copy(c, w)
				slices.Sort(c)
			}
		})
		for rule := NextFit; rule <= WorstFitDecreasing; rule++ {
			b.Run(fmt.Sprintf("%v/n=%d", rule, n), func(b *testing.B) {
				var bins int
				for b.Loop() {
					p, err := Pack(Problem[float64]{Weights: w, Capacity: 1}, rule)
					if err != nil {
						b.Fatal(err)
					}
					bins = p.Bins
				}
				b.ReportMetric(float64(bins), "bins")
			})
		}
	}
}
