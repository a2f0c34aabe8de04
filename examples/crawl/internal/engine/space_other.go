//go:build !unix

package engine

import "errors"

// freeSpace is not known here; the server says when the disk is full.
func freeSpace(string) (uint64, error) { return 0, errors.ErrUnsupported }
