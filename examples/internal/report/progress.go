package report

import (
	"os"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// A Progress is a progress bar on standard error, and silent where that is not
// a terminal. Its methods may be called from several goroutines.
type Progress struct{ bar *progressbar.ProgressBar }

// NewProgress starts a bar of total steps.
func NewProgress(label string, total int) *Progress {
	if !term.IsTerminal(int(os.Stderr.Fd())) {
		return &Progress{progressbar.DefaultSilent(int64(total))}
	}
	return &Progress{progressbar.NewOptions(total,
		progressbar.OptionSetDescription(label),
		progressbar.OptionSetWriter(os.Stderr),
		progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(100_000_000),
		progressbar.OptionClearOnFinish())}
}

// Add says that n more steps are done. What the bar cannot draw is not an
// error of the run.
func (p *Progress) Add(n int) { _ = p.bar.Add(n) }

// Done clears the bar.
func (p *Progress) Done() { _ = p.bar.Finish() }

// Parallel calls f(0..n−1) on all processors, with a progress bar if it has a label,
// and returns the first error in the order of the indices. f may write to element i of
// a slice.
func Parallel(label string, n int, f func(i int) error) error {
	progress := &Progress{progressbar.DefaultSilent(int64(n))}
	if label != "" {
		progress = NewProgress(label, n)
	}
	defer progress.Done()
	var next atomic.Int64
	errs := make([]error, n)
	var workers sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				errs[i] = f(i)
				progress.Add(1)
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
