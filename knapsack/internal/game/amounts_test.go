package game

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A countingSource counts the numbers drawn.
type countingSource struct {
	rand.Source
	drawn int
}

func (c *countingSource) Uint64() uint64 { c.drawn++; return c.Source.Uint64() }

// words returns what is kept besides the buckets, for a count of what a poll changes.
func (l *Amounts) words() (all []uint64) {
	for slot := range l.buckets.Slots() {
		all = append(all, uint64(l.at(slot)))
	}
	for _, pages := range l.all {
		all = append(all, uint64(pages))
	}
	for _, x := range append(slices.Clone(l.total), l.idle...) {
		all = append(all, math.Float64bits(x))
	}
	return all
}

// A poll draws two numbers, and writes to one page and to two paths through two trees of N
// leaves, whatever the number of pages. That buckets are as cheap is a test of theirs.
func TestCostDoesNotGrow(t *testing.T) {
	t.Parallel()
	const states = 300
	depth := int(math.Ceil(math.Log2(states))) + 1
	for _, n := range []int{500, 20_000} {
		src := &countingSource{Source: rand.NewPCG(1, 1)}
		l, err := New(n, Config{States: states, Lambda: 1.3, Start: 0.5, Capacity: 1e6}, src)
		require.NoError(t, err)
		for page := range n { // pages in all states
			l.take(page)
			l.move(page, 1+page%states)
			l.insert(page)
		}
		for k := range 50 {
			before, drawn := l.words(), src.drawn
			now := float64(2000 + k)
			slot, ok := l.Pick(now)
			require.True(t, ok)
			l.Learn(slot, k%2 == 0)
			l.Put(slot, now)
			require.Equal(t, 2, src.drawn-drawn)
			written := 0
			for i, w := range l.words() {
				if w != before[i] {
					written++
				}
			}
			require.LessOrEqual(t, written, 1+2*(1+2*depth), "n = %d", n)
		}
	}
}
