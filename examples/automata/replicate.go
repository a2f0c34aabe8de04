package main

import (
	"math/rand/v2"

	"github.com/recrawl/recrawl/examples/internal/report"
)

// replicate calls f for runs 0..runs−1 on all processors, each with its own random
// stream. f may write to element run of a slice.
func replicate(runs int, seed uint64, f func(run int, src rand.Source) error) error {
	return report.Parallel("", runs, func(run int) error { return f(run, rand.NewPCG(seed, uint64(run))) })
}
