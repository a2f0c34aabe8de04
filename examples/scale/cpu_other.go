//go:build !unix

package main

import "time"

// used returns the time that the program has run.
func used() time.Duration { return time.Since(begin) }
