//go:build !unix

package worktest

import "time"

var began = time.Now()

// processorTime returns how long this process has run: this system does not tell more.
func processorTime() time.Duration { return time.Since(began) }
