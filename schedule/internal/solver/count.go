package solver

import (
	"cmp"
	"sort"

	"github.com/recrawl/recrawl/internal/work"
	"github.com/recrawl/recrawl/schedule/internal/instance"
)

// A counter tests whether unrelated clients can do the number of sites by a time: prefix[j][k] is
// what client j's k+1 shortest sites take, as far as it can do that many. Where all durations are
// about as long, no price of a client tells that one client must do more sites than the mean.
type counter struct {
	p      *instance.Instance
	prefix [][]int64
	watch  *work.Watch
}

// newCounter takes O(n·m·log n).
func newCounter(p *instance.Instance, watch *work.Watch) *counter {
	c := &counter{p: p, prefix: make([][]int64, p.M), watch: watch}
	for j := range c.prefix {
		var able []int64
		for z := range p.N {
			if a := p.At(z, j); a != instance.Forbidden {
				able = append(able, a)
			}
		}
		able, ok := work.Sorted(able, cmp.Compare[int64], watch)
		if !ok {
			return c
		}
		for k := 1; k < len(able); k++ {
			able[k] += able[k-1]
		}
		c.prefix[j] = able
	}
	return c
}

// excludes reports whether the clients can do fewer sites by a time than there are. When the watch
// ends it excludes nothing more.
func (c *counter) excludes(t float64) bool {
	most := 0
	for j, prefix := range c.prefix {
		if c.watch.Spend(boundSteps) {
			return false
		}
		capacity := c.p.Capacity(j, t)
		most += sort.Search(len(prefix), func(k int) bool { return prefix[k] > capacity })
	}
	return most < c.p.N
}
