package main

import (
	"runtime"
	"sync"

	"github.com/recrawl/recrawl/examples/internal/report"
)

// each calls f(0..n−1) on all processors and returns the first error.
func each(label string, n int, f func(i int) error) error {
	progress := report.NewProgress(label, n)
	defer progress.Done()
	jobs := make(chan int)
	errs := make([]error, n)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		wg.Go(func() {
			for i := range jobs {
				errs[i] = f(i)
				progress.Add(1)
			}
		})
	}
	for i := range n {
		jobs <- i
	}
	close(jobs)
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
