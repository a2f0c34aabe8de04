package webenv

import (
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/source"
)

// random draws from a source that can be saved.
type random struct {
	*rand.Rand
	src rand.Source
}

// newRandom panics if the source is nil.
func newRandom(src rand.Source) random {
	source.Require(src, "webenv")
	return random{rand.New(src), src}
}

// restored reads a source of randomness.
func restored(d *codec.Decoder) random {
	src := d.NeedSource()
	if src == nil {
		return random{}
	}
	return newRandom(src)
}
