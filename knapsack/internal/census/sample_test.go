package census

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Up to Enough all vote. Of more, one of each so many neighbours does for all of them, so that the
// votes of all are their number up to each power of two, and nearly that between.
func TestVotes(t *testing.T) {
	t.Parallel()
	c := Census{Few: 16}
	votes, voters := 0, 0
	for slot := range uint32(1 << 14) {
		if n := int(slot); n >= 16 && n&(n-1) == 0 {
			require.Equal(t, n, votes)
		}
		v := c.Votes(slot)
		if v > 0 {
			voters++
		}
		votes += v
		if slot < 16 {
			require.Equal(t, 1, v)
		}
		require.LessOrEqual(t, max(votes-int(slot), int(slot)-votes), 2*max(1, int(slot)/16))
	}
	require.Equal(t, 16+10*8, voters, "16, and 8 for each doubling")

	full := New(1, false)
	require.Equal(t, 1, full.Votes(Enough-1))
	rapid.Check(t, func(t *rapid.T) {
		each := 2 << rapid.IntRange(0, 12).Draw(t, "doublings")
		first := rapid.IntRange(0, Enough/2-1).Draw(t, "block")*each + Enough*each/2
		sum := 0
		for slot := first; slot < first+each; slot++ {
			v := full.Votes(uint32(slot))
			require.Contains(t, []int{0, each}, v)
			sum += v
		}
		require.Equal(t, each, sum)
	})
}

// Which of the neighbours votes has no pattern.
func TestVotesAreSpread(t *testing.T) {
	t.Parallel()
	const each = 64
	c, at := New(1, false), [each]int{}
	for slot := Enough * each / 2; slot < Enough*each; slot++ {
		if c.Votes(uint32(slot)) > 0 {
			at[slot%each]++
		}
	}
	for _, n := range at {
		require.InDelta(t, Enough/2/each, n, 5*32) // five standard deviations
	}
}

func TestEvery(t *testing.T) {
	t.Parallel()
	c := New(1, false)
	require.Equal(t, 1, c.Every(0))
	require.Equal(t, 1, c.Every(Enough-1))
	require.Equal(t, 2, c.Every(Enough))
	require.Equal(t, 763, c.Every(1e8))
}
