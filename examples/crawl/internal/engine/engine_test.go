package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
)

func open(t *testing.T, cfg engine.Config) *engine.Engine {
	t.Helper()
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	e, err := engine.Open(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return e
}

// restored returns what Restore hands over.
func restored(t *testing.T, s *engine.Shard) (state string, records []string) {
	t.Helper()
	load := func(b []byte) error {
		if bytes.HasPrefix(b, []byte("bad")) {
			return errors.New("bad")
		}
		state = string(b)
		return nil
	}
	require.NoError(t, s.Restore(t.Context(), load, func(b []byte) error {
		records = append(records, string(b))
		return nil
	}))
	return state, records
}

func appendAll(t *testing.T, s *engine.Shard, records ...string) {
	t.Helper()
	for _, r := range records {
		require.NoError(t, s.Append(t.Context(), []byte(r)))
	}
}

// What was appended is restored, in the same folder, after another owner, with and without a
// snapshot, and a damaged snapshot falls back on the one before.
func TestRestore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	again := func(want string, wantRecords ...string) (*engine.Engine, *engine.Shard) {
		e := open(t, engine.Config{Dir: dir})
		s, err := e.Own(t.Context(), 3)
		require.NoError(t, err)
		state, records := restored(t, s)
		require.Equal(t, want, state)
		require.Equal(t, wantRecords, records)
		return e, s
	}
	e, s := again("")
	appendAll(t, s, "a", "b")
	e.Close()
	e, s = again("", "a", "b")
	at := s.Mark()
	appendAll(t, s, "c")
	require.NoError(t, s.Snapshot(t.Context(), at, []byte("ab")))
	e.Close()
	e, s = again("ab", "c")
	appendAll(t, s, "d")
	require.NoError(t, s.Snapshot(t.Context(), s.Mark(), []byte("bad")))
	appendAll(t, s, "e")
	e.Close()
	e, s = again("ab", "c", "d", "e")
	require.NoError(t, s.Snapshot(t.Context(), s.Mark(), []byte("abcde")))
	require.NoError(t, s.Snapshot(t.Context(), s.Mark(), []byte("bad")))
	e.Close()
	e, s = again("abcde")
	require.NoError(t, s.Snapshot(t.Context(), s.Mark(), []byte("abcde")))
	require.NoError(t, s.Snapshot(t.Context(), s.Mark(), []byte("abcde")))
	e.Close()
	_, s = again("abcde")
	// The other shards have nothing.
	require.NoError(t, s.All(t.Context(), func([]byte) error { return errors.New("purged, but for takeovers") }))
}

// Of two servers on one folder the second says so, and a folder that cannot be written to is named.
func TestFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	open(t, engine.Config{Dir: dir})
	_, err := engine.Open(t.Context(), engine.Config{Dir: dir})
	require.ErrorIs(t, err, engine.ErrBusy)
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = engine.Open(t.Context(), engine.Config{Dir: filepath.Join(file, "state")})
	require.ErrorIs(t, err, engine.ErrStorage)
}

// serve starts a server of its own, as another process would be.
func serve(t *testing.T) (url string) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir()})
	require.NoError(t, err)
	s.Start()
	require.True(t, s.ReadyForConnections(10e9))
	t.Cleanup(s.Shutdown)
	return s.ClientURL()
}

// A lease keeps a second owner away, and one that lost its lease and does not know can write
// neither a record nor a snapshot.
func TestFence(t *testing.T) {
	t.Parallel()
	url := serve(t)
	one, two := open(t, engine.Config{URL: url, Name: "one"}), open(t, engine.Config{URL: url, Name: "two"})
	first, err := one.Own(t.Context(), 0)
	require.NoError(t, err)
	appendAll(t, first, "a")
	_, err = two.Own(t.Context(), 0)
	require.ErrorIs(t, err, engine.ErrBusy)

	first.Release(t.Context()) // but it goes on, as one that was stopped and wakes up
	second, err := two.Own(t.Context(), 0)
	require.NoError(t, err)
	require.ErrorIs(t, first.Append(t.Context(), []byte("late")), engine.ErrFenced)
	require.ErrorIs(t, first.Snapshot(t.Context(), first.Mark(), []byte("late")), engine.ErrFenced)
	state, records := restored(t, second)
	require.Empty(t, state)
	require.Equal(t, []string{"a"}, records)
	appendAll(t, second, "b")
	require.ErrorIs(t, first.Append(t.Context(), []byte("later")), engine.ErrFenced)
}

// In a folder that is locked a lease that could not be renewed in time is not lost; with a
// server of others it is.
func TestLease(t *testing.T) {
	t.Parallel()
	const lease = time.Second // the least that there is
	own := open(t, engine.Config{Dir: t.TempDir(), Lease: lease})
	s, err := own.Own(t.Context(), 0)
	require.NoError(t, err)
	url := serve(t)
	one := open(t, engine.Config{URL: url, Lease: lease})
	other, err := one.Own(t.Context(), 0)
	require.NoError(t, err)
	one.Close() // as if the server were gone
	own.Close()
	select {
	case <-other.Lost():
	case <-time.After(time.Minute):
		t.Fatal("an owner without a server goes on")
	}
	select {
	case <-s.Lost():
		t.Fatal("lost to nobody")
	case <-time.After(2 * lease):
	}
}

// A context that ends ends an append.
func TestContext(t *testing.T) {
	t.Parallel()
	e := open(t, engine.Config{Dir: t.TempDir()})
	s, err := e.Own(t.Context(), 0)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, s.Append(ctx, []byte("a")), context.Canceled)
	appendAll(t, s, "b") // the chain holds, whether or not the other is there
}

func BenchmarkAppend(b *testing.B) {
	for _, size := range []int{100, 20_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			e, err := engine.Open(b.Context(), engine.Config{Dir: b.TempDir()})
			require.NoError(b, err)
			defer e.Close()
			s, err := e.Own(b.Context(), 0)
			require.NoError(b, err)
			record := make([]byte, size)
			for b.Loop() {
				require.NoError(b, s.Append(b.Context(), record))
			}
		})
	}
}
