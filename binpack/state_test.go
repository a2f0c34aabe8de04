package binpack

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec/codectest"
)

// λ = 1 and N = 8, so that no float is rounded.
func TestSchemeSaved(t *testing.T) {
	t.Parallel()
	codectest.Run(t, "scheme", savedScheme(t))
}

func FuzzSaved(f *testing.F) {
	codectest.Fuzz(f, savedScheme(f), savedPacker(f), savedPackerWithRules(f))
}

func savedScheme(t testing.TB) *codectest.Case {
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
	return codectest.Of(s, func() *Scheme { return new(Scheme) }, play)
}

// A site that no bin could ever hold would open one more bin in every slot.
func TestSchemeOfAnUnfitSiteIsRefused(t *testing.T) {
	t.Parallel()
	s, err := NewScheme([]int{20, 40}, SchemeConfig{Capacity: 20}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	for capacity, want := range map[float64]error{5: nil, 4.9: ErrCorrupt} { // 40 pages of at least 1/8
		s.cfg.Capacity = capacity
		require.ErrorIs(t, new(Scheme).UnmarshalBinary(must(s.MarshalBinary())), want, "%v", capacity)
	}
}

// A step to the lowest state, however it was set, is saved and loaded.
func TestSchemeOfTheLargestStepIsSaved(t *testing.T) {
	t.Parallel()
	s, err := NewScheme([]int{20, 40}, SchemeConfig{Capacity: 20, DecreaseStep: math.MaxInt}, rand.NewPCG(1, 2))
	require.NoError(t, err)
	require.NoError(t, new(Scheme).UnmarshalBinary(must(s.MarshalBinary())))
}

func TestPackerSaved(t *testing.T) {
	t.Parallel()
	codectest.Run(t, "packer", savedPacker(t))
}

func savedPacker(t testing.TB) *codectest.Case {
	p, _ := newFleet(t, PackerConfig{Headroom: -1}, 3, 10)
	sites := add(t, p, 3, 4, 5, 6, 7)
	require.NoError(t, p.RemoveSite(sites[1]))
	require.NoError(t, p.SetWeight(sites[2], 9))
	return codectest.Of(p, func() *Packer { return new(Packer) }, func(p *Packer) any {
		moves, _ := p.Rebalance(RebalanceConfig{MaxMoves: 50})
		site, node, err := p.AddSite(2, SiteConfig{})
		return []any{moves, site, node, err}
	})
}

// A packer with rules, two resources, a closing under way and a site where it must not be.
func TestPackerWithRulesSaved(t *testing.T) {
	t.Parallel()
	codectest.Run(t, "packer_rules", savedPackerWithRules(t))
}

func savedPackerWithRules(t testing.TB) *codectest.Case {
	p, err := NewPacker(PackerConfig{Resources: 1, MoveCost: -1})
	require.NoError(t, err)
	for zone := range 4 {
		_, err := p.AddNode(10, NodeConfig{Zone: zone, Capacities: []float64{20}})
		require.NoError(t, err)
	}
	var sites []int
	for k := range 12 {
		s, _, err := p.AddSite(float64(1+k%3), SiteConfig{Needs: []float64{float64(k % 4)}, Group: k / 3, Never: []int{k % 4}, MoveCost: 2})
		require.NoError(t, err)
		sites = append(sites, s)
	}
	for _, s := range sites[8:] {
		require.NoError(t, p.RemoveSite(s))
	}
	_, err = p.Rebalance(RebalanceConfig{MaxMoves: 1})
	require.NoError(t, err)
	require.NoError(t, p.SetSite(sites[1], SiteConfig{Never: []int{must(p.NodeOf(sites[1]))}}))
	return codectest.Of(p, func() *Packer { return new(Packer) }, func(p *Packer) any {
		var all []any
		for range 5 {
			moves, _ := p.Rebalance(RebalanceConfig{MaxMoves: 2})
			all = append(all, moves)
		}
		site, node, err := p.AddSite(2, SiteConfig{Group: 1})
		return append(all, site, node, err)
	})
}
