package engine_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
)

// Where a file of the log is lost and the server still knows how far the sequences went, the newest snapshot is
// restored, also if the process dies once more before it is. A look says the same. What is appended from then on
// counts.
func TestBlockIsLost(t *testing.T) {
	t.Parallel()
	for name, share := range map[string]float64{"removed": -1, "empty": 0, "half": .5, "most": .8} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			block := filepath.Join(messages(filepath.Join(dir, "nats"), "CRAWL"), "1.blk")
			e := open(t, engine.Config{Dir: dir})
			s := own(t, e)
			end := fill(t, s, "a", "ab", "abc", "abcd")
			appendAll(t, s, "e")
			e.Close()
			if share < 0 {
				require.NoError(t, os.Remove(block))
			} else {
				about, err := os.Stat(block)
				require.NoError(t, err)
				require.NoError(t, os.Truncate(block, int64(share*float64(about.Size()))))
			}
			again := func(want string) {
				t.Helper()
				e = open(t, engine.Config{Dir: dir})
				looked, err := e.Look(t.Context(), 0)
				require.NoError(t, err)
				state, records := restored(t, looked)
				require.Equal(t, want, state+strings.Join(records, ""))
				s = own(t, e)
				if want == "abcd" {
					require.Greater(t, s.Mark(), end)
					e.Close() // before it is restored
					e = open(t, engine.Config{Dir: dir})
					s = own(t, e)
				}
				state, records = restored(t, s)
				require.Equal(t, want, state+strings.Join(records, ""))
			}
			again("abcd")
			appendAll(t, s, "f")
			e.Close()
			again("abcdf")
			fill(t, s, "abcdfg")
			e.Close()
			e = open(t, engine.Config{Dir: dir})
			state, records := restored(t, own(t, e))
			require.Equal(t, "abcdfg", state)
			require.Empty(t, records)
		})
	}
}

// One snapshot that cannot be read does not keep the one before from being used. If none can be read, a crawl is
// not begun anew, and they stay: another version may read them.
func TestNothingCanBeRead(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"", "elsewhere"} {
		for _, first := range []string{"a", "bad"} {
			t.Run(url+first, func(t *testing.T) {
				t.Parallel()
				dir := t.TempDir()
				store, cfg := filepath.Join(dir, "nats"), engine.Config{Dir: dir, Lease: time.Second}
				var far *far
				if url != "" {
					store, far = dir, serveFrom(t, dir)
					cfg.URL = far.url
				}
				e := open(t, cfg)
				fill(t, own(t, e), first, "bad", "bad")
				e.Close()
				far.stop()
				require.NoError(t, os.Truncate(filepath.Join(messages(store, "CRAWL"), "1.blk"), 0))
				far.start()
				for range 2 {
					e = open(t, cfg)
					s, state := own(t, e), ""
					err := s.Restore(t.Context(), func(b []byte) error {
						if b[0] == 'b' {
							return fmt.Errorf("%s", b)
						}
						state = string(b)
						return nil
					}, func(b []byte) error { return fmt.Errorf("a record: %s", b) })
					if first == "bad" {
						require.ErrorIs(t, err, engine.ErrState)
					} else {
						require.NoError(t, err)
						require.Equal(t, "a", state)
					}
					require.Equal(t, 3, stored(t, e))
					if e.Close(); first != "bad" {
						break // by now the others are found to be over
					}
				}
			})
		}
	}
}

// Nor does a shard lose its snapshot because another one, which was restored before, has used the sequences that
// were lost.
func TestOthersWriteOn(t *testing.T) {
	t.Parallel()
	dir, before := t.TempDir(), t.TempDir()
	log := messages(filepath.Join(dir, "nats"), "CRAWL")
	e := open(t, engine.Config{Dir: dir, Shards: 2})
	_, err := e.Own(t.Context(), 1)
	require.NoError(t, err)
	e.Close()
	replace(t, before, log)
	e = open(t, engine.Config{Dir: dir})
	s, err := e.Own(t.Context(), 1)
	require.NoError(t, err)
	fill(t, s, "a", "ab")
	e.Close()
	replace(t, log, before)
	e = open(t, engine.Config{Dir: dir})
	for range 20 {
		appendAll(t, own(t, e), "other")
	}
	s, err = e.Own(t.Context(), 1)
	require.NoError(t, err)
	state, _ := restored(t, s)
	require.Equal(t, "ab", state)
}

// Snapshots with lost records that cannot be read stay until an owner has stored one since, also if the pointer
// leads to an older state.
func TestUnreadableStays(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	block := filepath.Join(messages(filepath.Join(dir, "nats"), "CRAWL"), "1.blk")
	e := open(t, engine.Config{Dir: dir})
	fill(t, own(t, e), "a")
	e.Close()
	about, err := os.Stat(block)
	require.NoError(t, err)
	e = open(t, engine.Config{Dir: dir})
	s := own(t, e)
	restored(t, s)
	fill(t, s, "bad", "bad")
	e.Close()
	require.NoError(t, os.Truncate(block, about.Size()))
	again := func(want string, wantStored int) {
		t.Helper()
		e = open(t, engine.Config{Dir: dir})
		s = own(t, e)
		state, records := restored(t, s)
		require.Equal(t, want, state)
		require.Empty(t, records)
		require.Equal(t, wantStored, stored(t, e))
	}
	again("a", 3)
	e.Close()
	again("a", 3)
	fill(t, s, "ab")
	e.Close()
	again("ab", 2)
}

// A pointer that is lost alone leaves the snapshots and the log since.
func TestPointerIsLost(t *testing.T) {
	t.Parallel()
	for name, access := range map[string]engine.Access{"in the process": {}, "elsewhere": {URL: serve(t)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := open(t, engine.Config{Dir: t.TempDir(), Access: access})
			e.Settle(0) // so the log is purged
			s := own(t, e)
			fill(t, s, "a", "ab", "abc")
			appendAll(t, s, "d")
			require.NoError(t, e.Forget(t.Context(), 0))
			state, records := restored(t, own(t, e))
			require.Equal(t, "abc", state)
			require.Equal(t, []string{"d"}, records)

			// The first snapshot of a shard may have none yet, and is not needed then.
			s, err := e.Own(t.Context(), 1)
			require.NoError(t, err)
			before := stored(t, e)
			fill(t, s, "e")
			require.NoError(t, e.Forget(t.Context(), 1))
			for range 2 {
				s, err = e.Own(t.Context(), 1)
				require.NoError(t, err)
				state, records = restored(t, s)
				require.Empty(t, state)
				require.Equal(t, []string{"e"}, records)
				require.Equal(t, before+1, stored(t, e))
			}
		})
	}
}

// A loss of power takes snapshots that were not synced yet, and leaves one before and the log since. How many
// are kept does not grow.
func TestSnapshotsAge(t *testing.T) {
	t.Parallel()
	dir, before := t.TempDir(), t.TempDir()
	snapshots := messages(filepath.Join(dir, "nats"), "OBJ_snap")
	var e *engine.Engine
	again := func(want string, wantRecords ...string) *engine.Shard {
		t.Helper()
		if e != nil {
			e.Close()
		}
		e = open(t, engine.Config{Dir: dir})
		s := own(t, e)
		state, records := restored(t, s)
		require.Equal(t, want, state)
		require.Equal(t, wantRecords, records)
		return s
	}
	lose := func() {
		t.Helper()
		e.Close()
		replace(t, snapshots, before)
	}
	all := func(s *engine.Shard) (records string) {
		t.Helper()
		require.NoError(t, s.All(t.Context(), func(b []byte) error {
			records += string(b)
			return nil
		}))
		return records
	}
	s := again("")
	fill(t, s, "a")
	e.Close()
	replace(t, before, snapshots)
	s = again("a")
	fill(t, s, "ab", "abc", "abcd", "abcde")
	require.Equal(t, 3, stored(t, e)) // abcde, abcd and a
	lose()
	s = again("a", "b", "c", "d", "e")
	fill(t, s, "abcdef") // a was not the newest, so that it is not known for how long it has been there
	e.Settle(0)
	fill(t, s, "abcdefg") // now it is synced
	e.Settle(time.Hour)
	fill(t, s, "abcdefgh", "abcdefghi", "abcdefghij")
	require.Equal(t, 4, stored(t, e)) // j, i, g and a
	lose()
	s = again("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
	fill(t, s, "abcdefghijk")
	e.Close()
	replace(t, before, snapshots)
	s = again("abcdefghijk")
	e.Settle(0)
	fill(t, s, "abcdefghijkl", "abcdefghijklm")
	require.Equal(t, 2, stored(t, e))
	s = again("abcdefghijklm")
	require.Equal(t, "lm", all(s))
}

// A snapshot ages while no node has its shard, too: else the log of short runs would grow for ever.
func TestSnapshotsAgeOverRestarts(t *testing.T) {
	t.Parallel()
	const age = 500 * time.Millisecond
	dir := t.TempDir()
	e := open(t, engine.Config{Dir: dir})
	s := own(t, e)
	restored(t, s)
	appendAll(t, s, "a")
	fill(t, s, "ab")
	e.Close()
	time.Sleep(age)
	for _, next := range []string{"abc", "abcd"} {
		e = open(t, engine.Config{Dir: dir})
		e.Settle(age)
		s = own(t, e)
		state, _ := restored(t, s)
		require.Equal(t, next[:len(next)-1], state)
		if next == "abcd" {
			break
		}
		fill(t, s, next)
		e.Close()
	}
	var records string
	require.NoError(t, s.All(t.Context(), func(b []byte) error {
		records += string(b)
		return nil
	}))
	require.Equal(t, "bc", records)
}

// A version before this one purged the log up to the snapshot before the newest. That one stays until the newest
// is old enough, and the log is not taken to be whole.
func TestUpgrade(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, engine.Config{Dir: dir, Shards: 2})
	e.Settle(0)
	fill(t, own(t, e), "a", "ab", "abc")
	s, err := e.Own(t.Context(), 1)
	require.NoError(t, err)
	fill(t, s, "bad", "bad")
	for shard := range 2 {
		require.NoError(t, e.Downgrade(t.Context(), shard))
	}
	e.Close()
	e = open(t, engine.Config{Dir: dir})
	s = own(t, e)
	state, _ := restored(t, s)
	require.Equal(t, "abc", state)
	fill(t, s, "abcd", "abcde")
	require.Equal(t, 6, stored(t, e)) // and two of the other shard
	s, err = e.Own(t.Context(), 1)
	require.NoError(t, err)
	bad := func(b []byte) error { return fmt.Errorf("%s", b) }
	require.ErrorIs(t, s.Restore(t.Context(), bad, func([]byte) error { return nil }), engine.ErrState)
}

// Of servers elsewhere that lost the end of the log the pointer says what counts. That there was more is told.
func TestOlderState(t *testing.T) {
	t.Parallel()
	f := serveFrom(t, t.TempDir())
	var log bytes.Buffer
	one := open(t, engine.Config{Access: engine.Access{URL: f.url}, Name: "one", Log: slog.New(slog.NewTextHandler(&log, nil))})
	fill(t, own(t, one), "a")
	back := f.keep("CRAWL")
	fill(t, own(t, one), "ab", "abc")
	back()
	state, _ := restored(t, own(t, one))
	require.Equal(t, "a", state)
	one.Close()
	require.Contains(t, log.String(), "an older state is used than was there")
}
