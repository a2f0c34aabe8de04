package partition

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
)

// maxCounted is the most objects whose pairs are counted.
const maxCounted = 1 << 16

// pairCounts counts how often two objects were asked for together: the estimates
// that PEOMA and TPEOMA pursue.
type pairCounts struct {
	n       int // objects
	queries uint64
	count   []uint32 // the count of pair i < j is at j(j-1)/2 + i
}

func newPairCounts(n int) *pairCounts {
	return &pairCounts{n: n, count: make([]uint32, n*(n-1)/2)}
}

func pairIndex(i, j int32) int {
	if i > j {
		i, j = j, i
	}
	return int(j)*(int(j)-1)/2 + int(i)
}

func (c *pairCounts) add(i, j int32) {
	c.queries++
	if k := pairIndex(i, j); c.count[k]+1 != 0 {
		c.count[k]++
	}
}

// primed reports whether κ queries were seen, one for each pair on average.
func (c *pairCounts) primed() bool { return c.queries >= uint64(len(c.count)) }

// often reports whether a pair makes up at least 1/κ of the queries.
func (c *pairCounts) often(i, j int32) bool {
	return uint64(c.count[pairIndex(i, j)])*uint64(len(c.count)) >= c.queries
}

// pursue processes a query under PEOMA or TPEOMA.
func (p *objectMigration) pursue(i, j int32) {
	c := p.pairs
	c.add(i, j)
	if !c.primed() {
		p.process(i, j)
		return
	}
	if !c.often(i, j) {
		return
	}
	p.process(i, j)
	if p.variant != TPEOMA {
		return
	}
	for k := range int32(c.n) {
		if k != i && k != j && c.often(j, k) {
			p.process(i, k)
		}
	}
}

func (c *pairCounts) encode(e *codec.Encoder) {
	e.Uint64(c.queries)
	e.Uint32s(c.count)
}

func decodePairCounts(d *codec.Decoder, n int) *pairCounts {
	return &pairCounts{n: n, queries: d.Uint64(), count: d.Uint32sIn(n*(n-1)/2, math.MaxUint32)}
}
