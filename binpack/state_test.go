package binpack

import (
	"encoding/hex"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// The saved bytes and what follows them are pinned: later versions must read what
// this one wrote, and go on the same way. λ = 1 and N = 8, so no float is rounded.
func TestSavedStateIsPinned(t *testing.T) {
	cfg := DefaultScheme
	cfg.Capacity = 20
	s, err := NewScheme([]int{20, 30, 40}, cfg, rand.NewPCG(1, 2))
	require.NoError(t, err)
	play := func(s *Scheme, slots int) (polls int) {
		for range slots {
			for _, p := range s.Begin() {
				require.NoError(t, s.Observe(p, p%2 == 0))
			}
			polls += s.End().Polls
		}
		return polls
	}
	play(s, 50)
	data, err := s.MarshalBinary()
	require.NoError(t, err)
	golden(t, "scheme.hex", hex.Dump(data))
	var r Scheme
	require.NoError(t, r.UnmarshalBinary(data))
	require.Equal(t, 976, play(&r, 20))

	p, _ := newFleet(t, DefaultPacker, 3, 10)
	sites := add(t, p, 3, 4, 5, 6, 7)
	require.NoError(t, p.RemoveSite(sites[1]))
	require.NoError(t, p.SetWeight(sites[2], 9))
	data, err = p.MarshalBinary()
	require.NoError(t, err)
	golden(t, "packer.hex", hex.Dump(data))
	var q Packer
	require.NoError(t, q.UnmarshalBinary(data))
	moves, err := q.Rebalance(Limit{})
	require.NoError(t, err)
	require.Equal(t, []Move{{sites[4], 1, 0, 7, Overload}, {sites[0], 0, 2, 3, Overload}}, moves)
}
