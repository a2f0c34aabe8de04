package main

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/internal/report"
)

// The learnt fingerprint has the fewest false changes wherever there is noise, and misses few.
func TestFingerprint(t *testing.T) {
	t.Parallel()
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
		case strings.HasPrefix(rest, "learnt"):
			require.LessOrEqual(t, share, of[kind+": bytes, false changes, of the polls without a change"]/5, what)
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	require.ErrorAs(t, run([]string{"-edits", "2"}, io.Discard, io.Discard), new(report.UsageError))
}
