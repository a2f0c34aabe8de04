package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/stretchr/testify/require"
)

var tiny = sizes{table: 6, many: 1, fixed: 3, switching: 2, curve: 3, fixedSteps: 500, switchingSteps: 4500}

func TestRun(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var first, again, table bytes.Buffer
	play := func(out *bytes.Buffer, args ...string) {
		p := newProgram(out, io.Discard)
		require.NoError(t, p.Parse(args))
		require.NoError(t, runAll(p, tiny))
	}
	play(&first, "-json", "-out", dir)
	play(&again, "-json")
	require.True(t, bytes.Equal(first.Bytes(), again.Bytes()), "the same seed, on any number of processors")

	var rows []report.Row
	require.NoError(t, json.Unmarshal(first.Bytes(), &rows))
	published := 0
	for _, r := range rows {
		require.NotEmpty(t, r.Source)
		require.NotEmpty(t, r.Item)
		require.NotNil(t, r.Measured)
		if r.Published != nil {
			published++
			require.NotEqual(t, own, r.Source)
		}
	}
	require.Equal(t, 6, published)
	for _, name := range []string{"convergence.svg", "automata.html"} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Greater(t, info.Size(), int64(1000))
	}

	play(&table, "-seed", "2")
	require.Contains(t, table.String(), "DP_RI N=188 in A")
}

func TestSpread(t *testing.T) {
	t.Parallel()
	means := spread(16)
	require.Equal(t, 0.9, means[bestOf(means)])
	require.Equal(t, means, spread(16))
	sum := 0.0
	for _, d := range means {
		sum += d
	}
	require.InDelta(t, 0.9+15*0.45, sum, 1e-9)
}
