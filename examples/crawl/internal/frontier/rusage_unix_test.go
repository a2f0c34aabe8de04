//go:build unix

package frontier_test

import (
	"syscall"
	"time"
)

// processTime returns the processor time that the process has taken, that of the clients included.
func processTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
