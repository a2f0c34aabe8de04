// Package source checks the sources of randomness that callers hand over.
package source

import "math/rand/v2"

// Require panics with "pkg: nil source of randomness" if src is nil, or a nil pointer to
// one of the types of math/rand/v2. Constructors call it: the global source is never
// used.
func Require(src rand.Source, pkg string) {
	if missing(src) {
		panic(pkg + ": nil source of randomness")
	}
}

func missing(src rand.Source) bool {
	switch s := src.(type) {
	case nil:
		return true
	case *rand.PCG:
		return s == nil
	case *rand.ChaCha8:
		return s == nil
	case *rand.Rand:
		return s == nil
	}
	return false
}
