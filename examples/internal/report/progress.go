package report

import (
	"os"

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
