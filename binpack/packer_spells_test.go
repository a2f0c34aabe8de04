package binpack

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// The last nodes to become superfluous are the first that are so no longer; those that were needed
// after all are the first that were.
func TestSpells(t *testing.T) {
	t.Parallel()
	var s spells
	require.Equal(t, -1., s.longest())
	s.needed(2)
	s.become(0)
	require.Empty(t, s)
	s.become(3)
	s.lengthen(2)
	s.become(5)
	s.lengthen(1)
	require.Equal(t, spells{{3, 3}, {2, 1}}, s)
	s.become(4)
	require.Equal(t, spells{{3, 3}, {1, 1}}, s)
	require.Equal(t, 3., s.longest())
	s.become(2)
	require.Equal(t, spells{{2, 3}}, s)
	s.become(3)
	s.needed(1)
	require.Equal(t, spells{{1, 3}, {1, 0}}, s)
	s.needed(1)
	require.Equal(t, 0., s.longest())
	s.needed(7)
	require.Empty(t, s)
	s.become(1)
	s.lengthen(math.MaxFloat64)
	s.lengthen(math.Inf(1))
	require.Equal(t, math.MaxFloat64, s.longest())
}

// spareOne returns a fleet of 50 to 100 nodes of which one is superfluous: 2 % of the capacity is free.
func spareOne(t *testing.T, nodes, each int) *Packer {
	p, _ := newFleet(t, PackerConfig{Headroom: -1, Early: -1}, nodes+5, 1)
	for i, s := range add(t, p, make([]float64, nodes*each)...) {
		p.detach(s)
		p.attach(s, i/each)
		require.NoError(t, p.SetWeight(s, .98/float64(each)))
	}
	return p
}

// One node of 80 is superfluous, and closed after a payback. A short peak of the load, or a spare
// that is opened for a site that fits nowhere else, makes its time begin anew. The packer is
// saved and restored before each call.
func TestPackerSpells(t *testing.T) {
	t.Parallel()
	const nodes, each = 80, 100
	for _, c := range []struct {
		name           string
		come           []float64 // the weights of sites that come before call 20,
		leave          bool      // and leave before call 21
		closed, opened int       // the call that closes a node; how many are in use once they have come
	}{
		{"nothing", nil, false, 32, nodes},
		{"peak", slices.Repeat([]float64{.0098}, 70), true, 20 + 32, nodes},
		{"large site", []float64{.5}, false, 20 + 32, nodes + 1},
	} {
		p := spareOne(t, nodes, each)
		closed := 0
		var come []int
		for call := 1; call <= 100 && closed == 0; call++ {
			data, err := p.MarshalBinary()
			require.NoError(t, err)
			p = new(Packer)
			require.NoError(t, p.UnmarshalBinary(data))
			if call == 20 {
				come = add(t, p, c.come...)
				require.Equal(t, c.opened, used(p), c.name)
			}
			if call == 21 && c.leave {
				for _, s := range come {
					require.NoError(t, p.RemoveSite(s))
				}
			}
			if moves := rebalance(t, p, RebalanceConfig{}); len(moves) > 0 {
				require.GreaterOrEqual(t, len(moves), each, c.name)
				closed = call
			}
		}
		require.Equal(t, c.closed, closed, c.name)
	}
}

// A node that is being closed, one move a call, is not superfluous any more, nor is its time kept.
func TestPackerSpellsWhileClosing(t *testing.T) {
	t.Parallel()
	p := spareOne(t, 80, 100)
	for range 32 {
		rebalance(t, p, RebalanceConfig{MaxMoves: 1})
	}
	for range 99 {
		require.Equal(t, 0, p.closing)
		require.Empty(t, p.spells)
		require.Len(t, rebalance(t, p, RebalanceConfig{MaxMoves: 1}), 1)
	}
	require.Equal(t, -1, p.closing)
	require.Equal(t, 79, used(p))
}

// States in which a shorter spell comes before a longer one, or has no nodes, are refused.
func TestSpellsAtLoad(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spells spells
		want   error
	}{
		{spells{{1, 3}, {2, 3}, {1, 0}}, nil}, {spells{{1, 2}, {1, 3}}, ErrCorrupt}, {spells{{0, 1}}, ErrCorrupt}, {spells{{-1, 1}}, ErrCorrupt},
		{spells{{1, -1}}, ErrCorrupt}, {spells{{1, math.NaN()}}, ErrCorrupt}, {spells{{1, math.Inf(1)}}, ErrCorrupt},
		{spells{{math.MaxInt32, 1}}, nil}, {spells{{math.MaxInt32, 1}, {1, 1}}, ErrCorrupt},
	} {
		p, _ := newFleet(t, PackerConfig{}, 2, 1)
		p.spells = c.spells
		data, err := p.MarshalBinary()
		require.NoError(t, err)
		require.ErrorIs(t, new(Packer).UnmarshalBinary(data), c.want, "%v", c.spells)
	}
}

// A state is refused from which the count of opened spares would overflow, and could not be saved.
func TestOpenedAtLoad(t *testing.T) {
	t.Parallel()
	for opened, want := range map[int]error{0: nil, 7: nil, -1: ErrCorrupt, math.MaxInt: ErrCorrupt} {
		p, _ := newFleet(t, PackerConfig{}, 2, 1)
		p.opened = opened
		data, err := p.MarshalBinary()
		require.NoError(t, err)
		require.ErrorIs(t, new(Packer).UnmarshalBinary(data), want, "%d", opened)
	}
}

// A removal that fails after it moved a site to a spare has opened none.
func TestFailedRemovalOpensNoSpare(t *testing.T) {
	t.Parallel()
	p, nodes := newFleet(t, PackerConfig{Headroom: -1, Early: -1}, 3, 10)
	for _, s := range add(t, p, 4, 3) { // only one of them may go to the second node
		require.NoError(t, p.SetSite(s, SiteConfig{Group: 1, Only: nodes[:2]}))
	}
	before := must(p.MarshalBinary())
	_, err := p.RemoveNode(nodes[0])
	require.ErrorIs(t, err, ErrNoRoom)
	require.Equal(t, before, must(p.MarshalBinary()))
}

// An exchange by which a node with one site is empty for a moment opens no spare: the time for which
// others have been superfluous goes on.
func TestExchangeOpensNoSpare(t *testing.T) {
	t.Parallel()
	p, err := NewPacker(PackerConfig{Headroom: -1, Early: -1})
	require.NoError(t, err)
	for _, c := range []float64{10, 20, 10, 10, 10, 10} {
		_, err := p.AddNode(c, NodeConfig{})
		require.NoError(t, err)
	}
	sites := add(t, p, 9, 9, .1, .1, .1, .1)
	for n, s := range sites {
		p.detach(Slot(s))
		p.attach(Slot(s), n)
	}
	rebalance(t, p, RebalanceConfig{})
	before := slices.Clone(p.spells)
	require.NotEmpty(t, before)
	require.NoError(t, p.SetWeight(sites[0], 12))
	require.Len(t, rebalance(t, p, RebalanceConfig{Elapsed: -1}), 2)
	require.Equal(t, before, p.spells)
}

// A node that its own time pays for, while many have been superfluous for one call only, takes nothing
// from what they have saved up together.
func TestOwnTimePays(t *testing.T) {
	t.Parallel()
	p := spareOne(t, 80, 100)
	for range 31 {
		require.Empty(t, rebalance(t, p, RebalanceConfig{}))
	}
	sites := slices.Collect(p.AllSites())
	for _, s := range sites[:500] {
		require.NoError(t, p.SetWeight(s, 0))
	}
	require.NotEmpty(t, rebalance(t, p, RebalanceConfig{}))
	require.Positive(t, p.surplus)
	require.GreaterOrEqual(t, p.saved, 0.)
	require.NoError(t, new(Packer).UnmarshalBinary(must(p.MarshalBinary())))
}
