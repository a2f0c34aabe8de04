package packing

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The search by pairs comes first where hardly any room is left and nearly all weights differ, and
// not where a third of them repeat, unless there is no waste at all: dives are faster there.
func TestTight(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n           int
		low, high   int64
		capacity    int64
		waste, from int64 // drawn until the waste is from here to there
		first       bool
	}{
		{500, 100, 700, 1000, 20, 5, false},
		{500, 100, 700, 1000, 1, 0, true},
		{300, 10_000, 50_000, 100_000, 2000, 200, true},
		{300, 10_000, 50_000, 100_000, 100_000, 3000, false},
	} {
		rng := rand.New(rand.NewPCG(7, uint64(c.n)))
		for {
			w, sum := between(rng, c.n, c.low, c.high), int64(0)
			for _, x := range w {
				sum += x
			}
			if rest := (c.capacity - sum%c.capacity) % c.capacity; rest < c.from || rest > c.waste {
				continue
			}
			s := newSolver(context.Background(), plain(c.capacity, w), 1)
			s.lower = int((sum + c.capacity - 1) / c.capacity)
			_, first := s.tight()
			require.Equal(t, c.first, first, "%+v, %d different weights", c, len(s.w))
			break
		}
	}
}
