package main

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/stretchr/testify/require"
)

func TestJSONIsRowsAndNothingElse(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	var out, log bytes.Buffer
	require.NoError(t, run([]string{"-quick", "-json", "-only", "uniform,replan"}, &out, &log))
	var rows []report.Row
	require.NoError(t, json.Unmarshal(out.Bytes(), &rows))
	require.NotEmpty(t, rows)
	for _, r := range rows {
		if r.Quantity == "proved optimal" {
			require.Equal(t, 1.0, r.Measured, r.Item)
		}
		require.NotEmpty(t, r.Source)
		require.Positive(t, r.Runs)
	}
}

func TestTablesAndPictures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var out, log bytes.Buffer
	require.NoError(t, run([]string{"-quick", "-only", "methods", "-out", dir}, &out, &log))
	require.Contains(t, out.String(), "paper: literal, 3 clients")
	page, err := os.ReadFile(filepath.Join(dir, "schedule.html"))
	require.NoError(t, err)
	require.Equal(t, 6, strings.Count(string(page), "<svg "))
	svg, err := os.ReadFile(filepath.Join(dir, "solved.svg"))
	require.NoError(t, err)
	require.Equal(t, paperSites, strings.Count(string(svg), "<title>"), "one bar per site")
}

// The suite's point: with its defaults Dispatcher is never far from the best policy.
func TestSuite(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("some seconds")
	}
	var out, log bytes.Buffer
	require.NoError(t, run([]string{"-quick", "-json", "-suite", "-only", "worlds"}, &out, &log))
	var rows []report.Row
	require.NoError(t, json.Unmarshal(out.Bytes(), &rows))
	rows = slices.DeleteFunc(rows, func(r report.Row) bool { return r.Quantity != "makespan over the planned one" })
	require.Len(t, rows, 2*len(troubles)*len(policies))
	for k := 0; k < len(rows); k += len(policies) {
		best := math.Inf(1)
		for _, r := range rows[k : k+len(policies)] {
			best = min(best, r.Measured.(float64))
		}
		require.Less(t, rows[k].Measured, 1.15*best, rows[k].Item)
	}
}

func TestSameSeedSameFigures(t *testing.T) {
	t.Parallel()
	var first, second, log bytes.Buffer
	args := []string{"-quick", "-json", "-seed", "7", "-only", "methods,replan"}
	require.NoError(t, run(args, &first, &log))
	require.NoError(t, run(args, &second, &log))
	require.Equal(t, first.String(), second.String())
}

func TestChoose(t *testing.T) {
	t.Parallel()
	chosen, err := choose(suite, "size, worlds")
	require.NoError(t, err)
	require.Len(t, chosen, 2)
	_, err = choose(suite, "size,worlds,size")
	require.ErrorContains(t, err, "-only: size twice")
}

// What is as planned but for rounding is as planned.
func TestRatio(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	require.Equal(t, 1.0, ratio(0.1+0.2, 0.3))
	require.Equal(t, 1.5, ratio(3, 2))
	require.Equal(t, 1+1e-9, ratio(1+1e-9, 1))
	var out, log bytes.Buffer
	require.NoError(t, run([]string{"-quick", "-only", "dispatch"}, &out, &log))
	require.NotRegexp(t, `[0-9]e-1[0-9]`, out.String())
}

// The time is that of the worlds and runs that are asked for, and a name that is none is refused
// before it is said.
func TestSuiteTakes(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"": "11m0s", "-only worlds": "4m0s", "-only size": "7m0s", "-only worlds -worlds dies": "27s", "-only worlds -runs 10": "1m0s", "-only worlds -worlds dies -runs 10": "7s",
	} {
		l := &lab{}
		fields := strings.Fields(args)
		chosen := suite
		for k := 0; k+1 < len(fields); k += 2 {
			switch fields[k] {
			case "-only":
				chosen, _ = choose(suite, fields[k+1])
			case "-worlds":
				l.worlds = fields[k+1]
			case "-runs":
				l.runs, _ = strconv.Atoi(fields[k+1])
			}
		}
		require.Equal(t, want, l.takes(chosen).String(), args)
	}
	var out, log bytes.Buffer
	require.ErrorAs(t, run([]string{"-suite", "-only", "worlds", "-worlds", "nonsense"}, &out, &log), new(report.UsageError))
	require.Empty(t, log.String())
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	var out, log bytes.Buffer
	for _, args := range [][]string{{"-nonsense"}, {"-seed", "x"}, {"table1"}, {"-only", "nonsense"},
		{"-suite", "-runs", "-3"}, {"-suite", "-out", "pictures"},
		{"-worlds", "dies"}, {"-runs", "3"}, {"-suite", "-only", "size", "-runs", "3"}, {"-suite", "-only", "worlds", "-worlds", "nonsense"}} {
		require.ErrorAs(t, run(args, &out, &log), new(report.UsageError))
	}
	require.Empty(t, out.String())
}
