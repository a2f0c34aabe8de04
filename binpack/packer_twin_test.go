package binpack

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// twins are two packers of which one is saved and restored after each call.
type twins struct {
	p, restored  *Packer
	sites, nodes []int
}

// both calls both, wants the same answer and the same state of them, and returns the answer.
func both[A any](t *rapid.T, w *twins, call func(p *Packer) (A, error)) (A, error) {
	x, err := call(w.p)
	again, errAgain := call(w.restored)
	require.Equal(t, x, again)
	require.Equal(t, err, errAgain)
	want, e := w.p.MarshalBinary()
	require.NoError(t, e)
	data, e := w.restored.MarshalBinary()
	require.NoError(t, e)
	require.Equal(t, want, data)
	w.restored = new(Packer)
	require.NoError(t, w.restored.UnmarshalBinary(data))
	return x, err
}

func (w *twins) addNode(t *rapid.T, capacity float64) {
	n, err := both(t, w, func(p *Packer) (int, error) { return p.AddNode(capacity, NodeConfig{}) })
	require.NoError(t, err)
	w.nodes = append(w.nodes, n)
}

func (w *twins) addSite(t *rapid.T, weight float64) {
	var c SiteConfig
	if len(w.p.resource) > 1 {
		c.Needs = []float64{weight / 2}
	}
	s, err := both(t, w, func(p *Packer) (int, error) { s, _, err := p.AddSite(weight, c); return s, err })
	if err == nil {
		w.sites = append(w.sites, s)
	}
}

// twinsProperty is a state machine: load comes and goes, nodes come, fail and are drained, time stands
// still or leaps, and costs are as small and as large as they may be.
func twinsProperty(t *rapid.T) {
	cfg := PackerConfig{
		KeepMaximum: rapid.IntRange(0, 5).Draw(t, "keep maximum") == 5,
		Headroom:    rapid.SampledFrom([]float64{-1, 0, 2}).Draw(t, "headroom"),
		MoveCost:    rapid.SampledFrom([]float64{-1, 0, .2, mostCost}).Draw(t, "move cost"),
		NodeCost:    rapid.SampledFrom([]float64{-1, 0, 1e-9, mostCost}).Draw(t, "node cost"),
	}
	if !cfg.KeepMaximum {
		cfg.Resources = rapid.IntRange(0, 1).Draw(t, "resources")
	}
	w := &twins{p: must(NewPacker(cfg)), restored: must(NewPacker(cfg))}
	for range rapid.IntRange(1, 60).Draw(t, "nodes") {
		w.addNode(t, 10)
	}
	for range rapid.IntRange(0, 150).Draw(t, "sites") {
		w.addSite(t, 3)
	}
	t.Repeat(map[string]func(*rapid.T){
		"add node": func(t *rapid.T) { w.addNode(t, float64(rapid.IntRange(1, 20).Draw(t, "c"))) },
		"add site": func(t *rapid.T) { w.addSite(t, rapid.Float64Range(0, 10).Draw(t, "w")) },
		"set weight": func(t *rapid.T) {
			if len(w.sites) == 0 {
				return
			}
			s, x := rapid.SampledFrom(w.sites).Draw(t, "site"), rapid.Float64Range(0, 20).Draw(t, "w")
			_, err := both(t, w, func(p *Packer) (int, error) { return 0, p.SetWeight(s, x) })
			require.NoError(t, err)
		},
		"sites leave": func(t *rapid.T) {
			k := rapid.IntRange(0, len(w.sites)).Draw(t, "sites")
			for _, s := range w.sites[k:] {
				_, err := both(t, w, func(p *Packer) (int, error) { return 0, p.RemoveSite(s) })
				require.NoError(t, err)
			}
			w.sites = w.sites[:k]
		},
		"drain": func(t *rapid.T) {
			if len(w.nodes) == 0 {
				return
			}
			n, on := rapid.SampledFrom(w.nodes).Draw(t, "node"), rapid.Bool().Draw(t, "drain")
			_, err := both(t, w, func(p *Packer) (int, error) { return 0, p.Drain(n, on) })
			require.NoError(t, err)
		},
		"fail": func(t *rapid.T) {
			if len(w.nodes) == 0 {
				return
			}
			k := rapid.IntRange(0, len(w.nodes)-1).Draw(t, "node")
			if _, err := both(t, w, func(p *Packer) ([]Move, error) { return p.RemoveNode(w.nodes[k]) }); err == nil {
				w.nodes = slices.Delete(w.nodes, k, k+1)
			}
		},
		"rebalance": func(t *rapid.T) {
			limit := RebalanceConfig{MaxMoves: rapid.IntRange(0, 5).Draw(t, "moves"), MaxWeight: float64(rapid.IntRange(0, 20).Draw(t, "weight"))}
			if rapid.Bool().Draw(t, "separate") {
				limit.MaxRelief, limit.MaxClosing = rapid.IntRange(0, 3).Draw(t, "relief"), rapid.IntRange(0, 3).Draw(t, "closing")
			}
			limit.Elapsed = rapid.SampledFrom([]float64{-1, 0, 1e-300, .5, 20, 100, math.MaxFloat64}).Draw(t, "elapsed")
			for range rapid.IntRange(1, 5).Draw(t, "calls") {
				_, err := both(t, w, func(p *Packer) ([]Move, error) { return p.Rebalance(limit) })
				require.NoError(t, err)
			}
		},
	})
}

// A packer that is restored goes on as the saved one does, move for move and bit for bit.
func TestPackerTwins(t *testing.T) {
	t.Parallel()
	rapid.Check(t, twinsProperty)
}
