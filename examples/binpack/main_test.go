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

func TestFamilies(t *testing.T) {
	if testing.Short() {
		t.Skip("solves for some seconds")
	}
	for _, f := range benchmark() {
		p := f.draw(3, rand.New(rand.NewPCG(3, 3)))
		require.NotEmpty(t, p.Weights, f.name)
	}
}
