package binpack

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec/codectest"
)

// λ = 1 and N = 8, so that no float is rounded.
func TestSchemeSaved(t *testing.T) {
	t.Parallel()
	s, err := NewScheme([]int{20, 30, 40}, SchemeConfig{Capacity: 20}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	play := func(s *Scheme) any {
		var reports []SlotReport
		for range 20 {
			for _, p := range s.Next() {
				_ = s.Observe(p, p%2 == 0)
			}
			reports = append(reports, s.Rebalance())
		}
		return reports
	}
	play(s)
	for _, p := range s.Next()[1:] { // one answer is due
		require.NoError(t, s.Observe(p, true))
	}
	codectest.Run(t, "scheme", s, func() *Scheme { return new(Scheme) }, play)
}

func TestPackerSaved(t *testing.T) {
	t.Parallel()
	p, _ := newFleet(t, PackerConfig{Headroom: -1}, 3, 10)
	sites := add(t, p, 3, 4, 5, 6, 7)
	require.NoError(t, p.RemoveSite(sites[1]))
	require.NoError(t, p.SetWeight(sites[2], 9))
	codectest.Run(t, "packer", p, func() *Packer { return new(Packer) }, func(p *Packer) any {
		moves, _ := p.Rebalance(RebalanceConfig{MaxMoves: 50})
		site, node, err := p.AddSite(2)
		return []any{moves, site, node, err}
	})
}
