package engine_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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

// What is behind a damaged place of the log is lost, and that is told. A log that is whole is not said to be
// damaged, also after a kill.
func TestDamagedLog(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	messages := messages(filepath.Join(dir, "nats"), "CRAWL")
	block := filepath.Join(messages, "1.blk")
	e := open(t, engine.Config{Dir: dir})
	appendAll(t, own(t, e), "one", "two", "three", "four")
	e.Close()
	opened := func() (records []string, log string) {
		t.Helper()
		require.NoError(t, os.Remove(filepath.Join(messages, "index.db"))) // as a kill leaves it
		var out bytes.Buffer
		e := open(t, engine.Config{Dir: dir, Log: slog.New(slog.NewTextHandler(&out, nil))})
		defer e.Close()
		_, records = restored(t, own(t, e))
		return records, out.String()
	}
	records, log := opened()
	require.Equal(t, []string{"one", "two", "three", "four"}, records)
	require.NotContains(t, log, "damaged")
	data, err := os.ReadFile(block)
	require.NoError(t, err)
	at := bytes.Index(data, []byte("three"))
	data[at] ^= 1
	require.NoError(t, os.WriteFile(block, data, 0o600))
	records, log = opened()
	require.Equal(t, []string{"one", "two"}, records)
	require.Contains(t, log, "the end of the log was damaged")
	records, log = opened() // it is whole again
	require.Equal(t, []string{"one", "two"}, records)
	require.NotContains(t, log, "damaged")
}

// A state is that of as many shards as before where only the file that describes it is damaged or lost.
func TestDamagedDescription(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"meta.inf", "meta.sum"} {
		for _, size := range []int64{0, 10, -1} {
			dir := t.TempDir()
			e := open(t, engine.Config{Dir: dir, Shards: 12, Kind: "crawl", Objective: "detections"})
			for i := range e.Shards() {
				s, err := e.Own(t.Context(), i)
				require.NoError(t, err)
				appendAll(t, s, strconv.Itoa(i))
			}
			e.Close()
			path := filepath.Join(filepath.Dir(messages(filepath.Join(dir, "nats"), "CRAWL")), file)
			if size < 0 {
				require.NoError(t, os.Remove(path))
			} else {
				require.NoError(t, os.Truncate(path, size))
			}
			var out bytes.Buffer
			for _, looks := range []bool{true, false} { // it is told once
				e = open(t, engine.Config{Dir: dir, Kind: "crawl", Objective: "freshness", LookOnly: looks, Log: slog.New(slog.NewTextHandler(&out, nil))})
				require.Equal(t, 12, e.Shards())
				require.Empty(t, e.Objective())
				s, err := e.Own(t.Context(), 11)
				require.NoError(t, err)
				_, records := restored(t, s)
				require.Equal(t, []string{"11"}, records)
				e.Close()
			}
			require.Equal(t, 1, strings.Count(out.String(), "the file that describes the state is damaged or lost"))
			_, err := engine.Open(t.Context(), engine.Config{Dir: dir, Shards: 1})
			require.ErrorContains(t, err, "begun with 12")
		}
	}
}

// What was lost is not asked for where the answer would have too many deleted records in it to come in time.
func TestManyAreDeleted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	messages := messages(filepath.Join(dir, "nats"), "CRAWL")
	e := open(t, engine.Config{Dir: dir})
	s := own(t, e)
	fill(t, s, "a", "b") // the second pointer deletes the first
	appendAll(t, s, "three")
	e.Close()
	require.NoError(t, os.Remove(filepath.Join(messages, "index.db")))
	data, err := os.ReadFile(filepath.Join(messages, "1.blk"))
	require.NoError(t, err)
	data[bytes.Index(data, []byte("three"))] ^= 1
	require.NoError(t, os.WriteFile(filepath.Join(messages, "1.blk"), data, 0o600))
	var out bytes.Buffer
	e = open(t, engine.Config{Dir: dir, Log: slog.New(slog.NewTextHandler(&out, nil))})
	told := func() int { return strings.Count(out.String(), "the end of the log was damaged") }
	require.Equal(t, 1, told())
	require.NoError(t, e.TellLoss(t.Context(), 0))
	require.Equal(t, 1, told())
	require.NoError(t, e.TellLoss(t.Context(), 100))
	require.Equal(t, 2, told())
}
