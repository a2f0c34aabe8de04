package main

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/binpack"
	"github.com/recrawl/recrawl/examples/internal/report"
)

func rowsOf(t *testing.T, o options) []report.Row {
	t.Helper()
	var b bytes.Buffer
	o.asJSON = true
	require.NoError(t, run(&b, o))
	var rows []report.Row
	require.NoError(t, json.Unmarshal(b.Bytes(), &rows))
	require.NotEmpty(t, rows)
	return rows
}

func TestPaper(t *testing.T) {
	out := t.TempDir()
	rows := rowsOf(t, options{seed: 1, quick: true, out: out})
	exact := 0
	for _, r := range rows {
		if r.Item == "optimal weights, BFD" {
			exact++
			require.InEpsilon(t, r.Published, r.Measured, 1e-12)
		}
		if r.Source == "Yazidi 2006, test 1" && r.Item == "less biased walk" && r.Quantity == "bins after 1000" {
			require.Equal(t, 4., r.Measured)
		}
	}
	require.Equal(t, 3, exact)
	_, err := os.Stat(filepath.Join(out, "binpack.html"))
	require.NoError(t, err)
}

func TestSuite(t *testing.T) {
	if testing.Short() {
		t.Skip("packs for some seconds")
	}
	moves := map[string]float64{}
	for _, r := range rowsOf(t, options{seed: 1, quick: true, suite: true}) {
		v, ok := r.Measured.(float64)
		require.True(t, ok && !math.IsNaN(v) && v >= 0)
		if r.Quantity == "moves per step" {
			moves[r.Item] = v
		}
	}
	require.Less(t, moves["drift 10 %: fewest moves (Packer)"], moves["drift 10 %: keep the maximum subset (Yazidi 2006)"])
}

// What the packer does by default under drift, over the seeds of the full run: few
// moves, little overload, and no more nodes than the paper's policy.
func TestPackerUnderDrift(t *testing.T) {
	if testing.Short() {
		t.Skip("plays for some seconds")
	}
	keep := binpack.DefaultPacker
	keep.Policy = binpack.KeepMaximum
	const seeds = 20
	for _, c := range []struct {
		sigma                    float64
		moves, overloaded, nodes float64 // at most
	}{{.02, .3, .9, 19.01}, {.1, 2.1, 8.8, 21.5}} {
		mean := func(cfg binpack.PackerConfig) (m tally) {
			for seed := range uint64(seeds) {
				w, err := drift("", c.sigma, 2)(seed + 1)
				require.NoError(t, err)
				got, err := play(w, newLiving(cfg))
				require.NoError(t, err)
				m.nodes += got.nodes / seeds
				m.moves += got.moves / seeds
				m.overloaded += got.overloaded / seeds
			}
			return m
		}
		ours, paper := mean(binpack.DefaultPacker), mean(keep)
		require.LessOrEqual(t, ours.moves, c.moves)
		require.LessOrEqual(t, ours.overloaded, c.overloaded)
		require.LessOrEqual(t, ours.nodes, c.nodes)
		require.LessOrEqual(t, ours.nodes, paper.nodes+1e-9)
		require.Less(t, 10*ours.moves, paper.moves)
		require.Less(t, 4*ours.overloaded, paper.overloaded)
	}
}

func TestFamilies(t *testing.T) {
	if testing.Short() {
		t.Skip("solves for some seconds")
	}
	for _, f := range benchmark() {
		p := f.draw(3, rand.New(rand.NewPCG(3, 3)))
		require.NotEmpty(t, p.Weights, f.name)
	}
}
