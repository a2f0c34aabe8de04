package engine_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
)

// A bit of a snapshot that is damaged costs seconds, which are told of; the snapshot before is used. An
// interrupt costs less.
func TestDamagedBlock(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, engine.Config{Dir: dir})
	s, err := e.Own(t.Context(), 0)
	require.NoError(t, err)
	appendAll(t, s, "a", "b")
	require.NoError(t, s.Snapshot(t.Context(), s.Mark(), []byte("ab")))
	appendAll(t, s, "c")
	require.NoError(t, s.Snapshot(t.Context(), s.Mark(), bytes.Repeat([]byte("abc"), 100_000)))
	e.Close()
	block := filepath.Join(dir, "nats", "jetstream", "$G", "streams", "OBJ_snap", "msgs", "1.blk")
	data, err := os.ReadFile(block)
	require.NoError(t, err)
	data[len(data)*3/4] ^= 1
	require.NoError(t, os.WriteFile(block, data, 0o600))

	var log bytes.Buffer
	e = open(t, engine.Config{Dir: dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
	began := time.Now()
	looked, err := e.Look(t.Context(), 0)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.ErrorIs(t, looked.Restore(ctx, func([]byte) error { return nil }, func([]byte) error { return nil }), context.DeadlineExceeded)
	require.Less(t, time.Since(began), 5*time.Second)

	looked, err = e.Look(t.Context(), 0)
	require.NoError(t, err)
	state, records := restored(t, looked)
	require.Equal(t, "ab", state)
	require.Equal(t, []string{"c"}, records)
	require.Less(t, time.Since(began), time.Minute)
	require.Contains(t, log.String(), "reading a snapshot")
}
