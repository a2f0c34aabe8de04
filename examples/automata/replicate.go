package main

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
)

// replicate calls f for runs 0..runs−1 on all processors, each with its own random
// stream, and returns the first error in the order of the runs. f may write to
// element run of a slice.
func replicate(runs int, seed uint64, f func(run int, src rand.Source) error) error {
	var next atomic.Int64
	errs := make([]error, runs)
	var workers sync.WaitGroup
	for range min(runs, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for {
				run := int(next.Add(1)) - 1
				if run >= runs {
					return
				}
				errs[run] = f(run, rand.NewPCG(seed, uint64(run)))
			}
		})
	}
	workers.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
