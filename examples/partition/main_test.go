package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/stretchr/testify/require"
)

func play(out io.Writer, size scale, args ...string) error {
	p := newProgram(out, io.Discard)
	return errors.Join(p.Parse(args), runAll(p, size))
}

// All experiments at a small scale: valid JSON, and pictures that are self-contained.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	var out bytes.Buffer
	dir := t.TempDir()
	require.NoError(t, play(&out, scale{runs: 1, sites: 200, queryRuns: 2}, "-json", "-out", dir))
	var rows []map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &rows))
	require.Greater(t, len(rows), 40)
	for _, r := range rows {
		require.NotNil(t, r["measured"], "%v", r)
	}
	page, err := os.ReadFile(filepath.Join(dir, "partition.html"))
	require.NoError(t, err)
	require.NotContains(t, strings.ReplaceAll(string(page), "http://www.w3.org/", ""), "http://")
	pictures, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	require.NoError(t, err)
	require.Greater(t, len(pictures), 7)
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-arms", "4"}, {"-suite", "-out", "pictures"}, {"-suite", "-arms", "1"}, {"-suite", "-arms", "257"}, {"-suite", "-arms", "1000000000000"}} {
		require.ErrorAs(t, run(args, io.Discard, io.Discard), new(report.UsageError), args)
	}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	before := experiments
	experiments = before[2:3]
	t.Cleanup(func() { experiments = before })
	require.NoError(t, play(&out, scale{runs: 2, sites: 400}))
	require.Contains(t, out.String(), "hours used")
}

// The suite's point: Assigner is best where something changes, and hardly worse than the best
// mean where nothing does.
func TestSuite(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, run([]string{"-suite", "-quick", "-json"}, &out, io.Discard))
	var rows []report.Row
	require.NoError(t, json.Unmarshal(out.Bytes(), &rows))
	time := map[string]float64{}
	k := 0
	for _, r := range rows {
		if r.Quantity == "time beyond the fastest that is up" {
			world := suiteWorlds[k/(len(suiteNoises)*len(rivals))].name
			time[world+": "+rivals[k%len(rivals)].name] += 1 + r.Measured.(float64)
			k++
		}
	}
	require.Equal(t, len(suiteWorlds)*len(suiteNoises)*len(rivals), k)
	for _, w := range suiteWorlds {
		require.Less(t, time[w.name+": assigner"], 1.03*time[w.name+": "+rivals[1].name], w.name)
	}
}
