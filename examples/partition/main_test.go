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

	"github.com/stretchr/testify/require"
)

func play(out io.Writer, size scale, args ...string) error {
	p := newProgram(out, io.Discard)
	return errors.Join(p.Parse(args), runAll(p, size))
}

// All experiments at a small scale: valid JSON, every figure of the papers present, the
// pictures self-contained.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("some seconds")
	}
	tiny := scale{runs: 2, longRuns: 1, sites: 200, changing: 400, wide: 500, queryRuns: 2, perArm: 10}
	settingsBefore := settings
	settings = append(settings[:0:0], settings[0], settings[2], settings[5], settings[7])
	t.Cleanup(func() { settings = settingsBefore })

	var out bytes.Buffer
	dir := t.TempDir()
	require.NoError(t, play(&out, tiny, "-json", "-out", dir))
	var rows []map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &rows))
	sources := map[string]bool{}
	for _, r := range rows {
		sources[r["source"].(string)] = true
		require.NotNil(t, r["measured"], "%v", r)
	}
	for _, figure := range []string{paper + ", figure 2", paper + ", figure 3", paper + ", figure 4", thesis + ", figure 5.3-1",
		thesis + ", figure 5.3-3", thesis + ", figure 5.3-6", thesis + ", figure 5.3-7", thesis + ", figure 5.3-8"} {
		require.True(t, sources[figure], figure)
	}
	page, err := os.ReadFile(filepath.Join(dir, "partition.html"))
	require.NoError(t, err)
	require.NotContains(t, strings.ReplaceAll(string(page), "http://www.w3.org/", ""), "http://")
	pictures, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	require.NoError(t, err)
	require.Greater(t, len(pictures), 10)
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	before := experiments
	experiments = before[5:6]
	t.Cleanup(func() { experiments = before })
	require.NoError(t, play(&out, scale{longRuns: 2, sites: 400}))
	require.Contains(t, out.String(), "hours used")
}
