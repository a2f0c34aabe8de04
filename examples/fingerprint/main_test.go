package main

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/internal/report"
)

// The learnt fingerprint has the fewest false changes wherever there is noise, and misses few, also
// of prices that change in place. Of a clock that stands still for some polls little can be learnt.
func TestFingerprint(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the whole table takes long under the race detector")
	}
	var out bytes.Buffer
	require.NoError(t, run([]string{"-json"}, &out, io.Discard))
	var rows []report.Row
	require.NoError(t, json.Unmarshal(out.Bytes(), &rows))
	of := map[string]float64{}
	for _, r := range rows {
		of[r.Item+", "+r.Quantity] = r.Measured.(float64)
	}
	require.Len(t, of, len(rows))
	for what, share := range of {
		switch kind, rest, _ := strings.Cut(what, ": "); {
		case strings.Contains(rest, "missed"):
			require.LessOrEqual(t, share, 5.0, what)
		case strings.HasPrefix(rest, "learnt") && !strings.Contains(kind, "in a cache"):
			most := of[kind+": bytes, false changes, of the polls without a change"] / 5
			if strings.HasPrefix(kind, "the age") || // several have the same
				strings.HasPrefix(kind, "fifteen") { // learnt when most of the links are known
				most *= 1.6
			}
			if strings.Contains(kind, "in place") {
				most += 0.5 // those that are reported late
			}
			require.LessOrEqual(t, share, most, what)
		}
	}
}

// A share of no polls or no changes is nothing, and not 0 %.
func TestSharesOfNothing(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the whole table takes long under the race detector")
	}
	for edits, none := range map[string]string{"0": "missed", "1": "false changes"} {
		var out bytes.Buffer
		require.NoError(t, run([]string{"-json", "-edits", edits}, &out, io.Discard))
		var rows []report.Row
		require.NoError(t, json.Unmarshal(out.Bytes(), &rows))
		for _, r := range rows {
			require.Equal(t, strings.HasPrefix(r.Quantity, none), r.Measured == nil, "%+v", r)
		}
	}
}

// With -out there is a page with the figures.
func TestPage(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("the whole table takes long under the race detector")
	}
	folder := t.TempDir()
	require.NoError(t, run([]string{"-out", folder}, io.Discard, io.Discard))
	page, err := os.ReadFile(filepath.Join(folder, "fingerprint.html"))
	require.NoError(t, err)
	require.Contains(t, string(page), "missed, of the changes")
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-edits", "2"}, {"-quick"}} {
		require.ErrorAs(t, run(args, io.Discard, io.Discard), new(report.UsageError), "%v", args)
	}
}
