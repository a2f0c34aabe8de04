package main

import (
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/internal/report"
)

// Every line is there, and what it says can be.
func TestScale(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	var out bytes.Buffer
	require.NoError(t, run([]string{"-quick", "-json", "-pages", "100000", "-only", "memory,LAKG,filter,TWOMA,packer,assigner"}, &out, io.Discard))
	var rows []report.Row
	require.NoError(t, json.Unmarshal(out.Bytes(), &rows))
	bytes := map[string]float64{}
	for _, r := range rows {
		require.GreaterOrEqual(t, r.Measured.(float64), 0.0, r.Item)
		if name, _, _ := strings.Cut(r.Item, " of "); r.Quantity == "memory of each" {
			bytes[name] = r.Measured.(float64)
		}
	}
	require.Len(t, bytes, 7)
	require.InDelta(t, 2, bytes["TWOMA, 30 arms"], 0.1)
	require.Less(t, bytes["LAKG"], bytes["rate filter"])
	require.Less(t, bytes["rate filter"], bytes["keyed rate filter"])
}

// The page is written with -json, too.
func TestPage(t *testing.T) {
	for _, args := range [][]string{nil, {"-json"}} {
		dir := t.TempDir()
		var out bytes.Buffer
		require.NoError(t, run(append(args, "-quick", "-pages", "1000", "-only", "LAKG alone", "-out", dir), &out, io.Discard))
		require.Equal(t, args != nil, json.Valid(out.Bytes()))
		require.FileExists(t, filepath.Join(dir, "scale.html"))
	}
}

// A chain goes through all links before it comes back.
func TestCycle(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 2, 3, 1000} {
		v, at := cycle(n, 7), uint32(0)
		for k := range n {
			require.Zero(t, v[at].count, "link %d of %d, after %d", at, n, k)
			v[at].count++
			at = v[at].next
		}
		require.Zero(t, at)
	}
}

// A word that is a whole name means that line alone.
func TestOnly(t *testing.T) {
	t.Parallel()
	all := subjects([]int{1000}, true)
	chosen := func(words ...string) (list []string) {
		for _, s := range all {
			if called(s, words, all) {
				list = append(list, s.name)
			}
		}
		return list
	}
	require.Equal(t, []string{"rate filter"}, chosen("rate filter"))
	require.Equal(t, []string{"rate filter", "rate filter with groups", "keyed rate filter"}, chosen("filter"))
	require.Equal(t, []string{"LAKG", "keyed rate filter"}, chosen(" LAKG", "keyed"))
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, bad := range [][]string{{"-pages", "1e9"}, {"-pages", "x"}, {"-pages", "1500.5"}, {"-cycles", "-1"}, {"-cycles", "1e300"}, {"-cycles", "NaN"}, {"-only", "nothing"}, {"-only", "LAKG,nothing"}, {"-only", ","}, {"-only", " "}, {"-only", "LAKG,"}} {
		require.ErrorAs(t, run(bad, io.Discard, io.Discard), &report.UsageError{}, "%q", bad)
	}
}
