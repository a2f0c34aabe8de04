//go:build unix

package report

import (
	"syscall"
	"time"
)

// ProcessorTime returns the processor time that the program has used: on a machine that does other
// things, too, it says more than a clock.
func ProcessorTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return time.Since(begin)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
