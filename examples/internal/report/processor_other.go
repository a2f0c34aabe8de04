//go:build !unix

package report

import "time"

// ProcessorTime returns the time that the program has run.
func ProcessorTime() time.Duration { return time.Since(begin) }
