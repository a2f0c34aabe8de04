package engine_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
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
// snapshot, and a damaged snapshot falls back on the one before. Where each record is synced the log is purged
// at once.
func TestRestore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	again := func(want string, wantRecords ...string) (*engine.Engine, *engine.Shard) {
		e := open(t, engine.Config{Dir: dir, SyncAlways: true})
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

// Where the end of the log is lost with the pointers to the latest snapshots, or all of it, the newest
// snapshot is what is restored, and what is appended from then on counts.
func TestLogIsLost(t *testing.T) {
	t.Parallel()
	for name, snapshots := range map[string][]string{"pointers": {"ab", "abc", "abcd"}, "newest pointer": {"abcd"}, "all": {"ab", "abc", "abcd"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			log := filepath.Join(dir, "nats", "jetstream", "$G", "streams", "CRAWL", "msgs")
			var e *engine.Engine
			again := func(want string, wantRecords ...string) *engine.Shard {
				t.Helper()
				e = open(t, engine.Config{Dir: dir, Shards: 4})
				s, err := e.Own(t.Context(), 3)
				require.NoError(t, err)
				state, records := restored(t, s)
				require.Equal(t, want, state)
				require.Equal(t, wantRecords, records)
				return s
			}
			s := again("")
			appendAll(t, s, "a")
			require.NoError(t, s.Snapshot(t.Context(), s.Mark(), []byte("a")))
			e.Close()
			before := filepath.Join(t.TempDir(), "before")
			if name == "all" {
				require.NoError(t, os.Mkdir(before, 0o700))
			} else {
				require.NoError(t, os.CopyFS(before, os.DirFS(log)))
			}
			s = again("a")
			for _, state := range snapshots {
				appendAll(t, s, state[len(state)-1:])
				require.NoError(t, s.Snapshot(t.Context(), s.Mark(), []byte(state)))
			}
			appendAll(t, s, "e", "f", "g", "h")
			e.Close()
			require.NoError(t, os.RemoveAll(log))
			require.NoError(t, os.Rename(before, log))
			e = open(t, engine.Config{Dir: dir})
			looked, err := e.Look(t.Context(), 3)
			require.NoError(t, err)
			state, records := restored(t, looked)
			require.Equal(t, "abcd", state)
			require.Empty(t, records)
			e.Close()
			s = again("abcd")
			appendAll(t, s, "i")
			e.Close()
			s = again("abcd", "i")
			require.NoError(t, s.Snapshot(t.Context(), s.Mark(), []byte("abcdi")))
			appendAll(t, s, "j")
			e.Close()
			s = again("abcdi", "j")
			require.NoError(t, s.Snapshot(t.Context(), s.Mark(), []byte("abcdij")))
			e.Close()
			again("abcdij")
			there, err := e.Blobs(t.Context())
			require.NoError(t, err)
			require.Equal(t, 3, there) // of the lost ones that which was used
		})
	}
}

// Nor is a snapshot lost where the log ends right before its last record.
func TestLastRecordIsLost(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	log, before := filepath.Join(dir, "nats", "jetstream", "$G", "streams", "CRAWL", "msgs"), filepath.Join(t.TempDir(), "before")
	e := open(t, engine.Config{Dir: dir})
	_, err := e.Own(t.Context(), 0)
	require.NoError(t, err)
	e.Close()
	require.NoError(t, os.CopyFS(before, os.DirFS(log)))
	e = open(t, engine.Config{Dir: dir})
	s, err := e.Own(t.Context(), 0)
	require.NoError(t, err)
	require.NoError(t, s.Snapshot(t.Context(), s.Mark(), []byte("a")))
	e.Close()
	require.NoError(t, os.RemoveAll(log))
	require.NoError(t, os.Rename(before, log))
	s, err = open(t, engine.Config{Dir: dir}).Own(t.Context(), 0)
	require.NoError(t, err)
	state, _ := restored(t, s)
	require.Equal(t, "a", state)
}

// What the state was at a mark can be had while more is appended, with a snapshot and without.
func TestReplay(t *testing.T) {
	t.Parallel()
	e := open(t, engine.Config{Dir: t.TempDir()})
	s, err := e.Own(t.Context(), 1)
	require.NoError(t, err)
	replayed := func(at engine.Mark) (state, records string) {
		t.Helper()
		require.NoError(t, s.Replay(t.Context(), at, func(b []byte) error {
			state = string(b)
			return nil
		}, func(b []byte) error {
			records += string(b)
			return nil
		}))
		return state, records
	}
	begun := s.Mark()
	appendAll(t, s, "a", "b")
	two := s.Mark()
	appendAll(t, s, "c", "d")
	for at, want := range map[engine.Mark]string{begun: "", two: "ab", s.Mark(): "abcd"} {
		state, records := replayed(at)
		require.Empty(t, state)
		require.Equal(t, want, records)
	}
	require.NoError(t, s.Snapshot(t.Context(), two, []byte("AB")))
	state, records := replayed(two)
	require.Equal(t, "AB", state)
	require.Empty(t, records)
	appendAll(t, s, "e")
	state, records = replayed(s.Mark())
	require.Equal(t, "AB", state)
	require.Equal(t, "cde", records)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, s.Replay(ctx, s.Mark(), func([]byte) error { return nil }, func([]byte) error { return nil }))
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
func serve(t *testing.T) (url string) { return serveMessages(t, 0) }

// serveMessages is serve with a greatest size of messages, 0 for the server's own.
func serveMessages(t *testing.T, most int32) (url string) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(), MaxPayload: most})
	require.NoError(t, err)
	s.Start()
	require.True(t, s.ReadyForConnections(10e9))
	t.Cleanup(s.Shutdown)
	return s.ClientURL()
}

// Nor is a state waited for whose files cannot be opened: its server would not say so, and not answer.
// Here one of them is a folder, as the superuser may write to any file.
func TestUnwritable(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	e := open(t, engine.Config{Dir: dir})
	s, err := e.Own(t.Context(), 0)
	require.NoError(t, err)
	appendAll(t, s, "a")
	e.Close()
	files, err := filepath.Glob(filepath.Join(dir, "nats", "jetstream", "*", "streams", "CRAWL", "msgs", "*.blk"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	require.NoError(t, os.Remove(files[0]))
	require.NoError(t, os.Mkdir(files[0], 0o700))
	_, err = engine.Open(t.Context(), engine.Config{Dir: dir})
	require.ErrorIs(t, err, engine.ErrStorage)
	require.ErrorContains(t, err, files[0])
}

// A node that polls nothing, as its servers have no room for what it has to say, says why.
func TestServersAreFull(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir(), JetStreamMaxStore: 1 << 20})
	require.NoError(t, err)
	s.Start()
	require.True(t, s.ReadyForConnections(10e9))
	t.Cleanup(s.Shutdown)
	var log bytes.Buffer
	e := open(t, engine.Config{Access: engine.Access{URL: s.ClientURL()}, Name: "one", Lease: time.Second, Log: slog.New(slog.NewTextHandler(&log, nil))})
	for i := 0; err == nil; i++ {
		err = e.Board().Put(t.Context(), fmt.Sprint("filler.", i), make([]byte, 64<<10))
	}
	require.ErrorIs(t, err, engine.ErrStorage)
	require.Eventually(t, func() bool { return !e.Session().Sure() }, time.Minute, time.Millisecond)
	time.Sleep(17 * time.Second) // an election is not worth telling
	e.Close()
	require.Contains(t, log.String(), "cannot write the state")
}

// A lease keeps a second owner away, and one that lost its lease and does not know can write
// neither a record nor a snapshot.
func TestFence(t *testing.T) {
	t.Parallel()
	url := serve(t)
	one, two := open(t, engine.Config{Access: engine.Access{URL: url}, Name: "one"}), open(t, engine.Config{Access: engine.Access{URL: url}, Name: "two"})
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

// A node that falls silent is unsure before it is declared dead, and dead before another node owns
// what it had. What it still writes does not count. In a folder that is locked nothing of this
// matters.
func TestSilence(t *testing.T) {
	t.Parallel()
	const lease = 2 * time.Second
	own := open(t, engine.Config{Dir: t.TempDir(), Lease: lease})
	alone, err := own.Own(t.Context(), 0)
	require.NoError(t, err)

	url := serve(t)
	one := open(t, engine.Config{Access: engine.Access{URL: url}, Name: "one", Lease: lease})
	two := open(t, engine.Config{Access: engine.Access{URL: url}, Name: "two", Lease: lease})
	first, err := one.Own(t.Context(), 0)
	require.NoError(t, err)
	appendAll(t, first, "a")
	time.Sleep(2 * lease)
	require.True(t, first.Sure())
	require.NoError(t, first.Held().Err())
	held := first.Held()
	require.Eventually(t, func() bool { return two.Board().Owners()[0] == "one" }, time.Minute, time.Millisecond)
	one.Silence()
	var second *engine.Shard
	for second == nil {
		sure, asked := first.Sure(), time.Now()
		second, err = two.Own(t.Context(), 0)
		if err != nil {
			require.ErrorIs(t, err, engine.ErrBusy)
			continue
		}
		require.False(t, sure && time.Since(asked) < lease/4 || first.Sure(), "taken while its owner was sure")
	}
	require.Error(t, held.Err())
	require.ErrorIs(t, first.Append(t.Context(), []byte("late")), engine.ErrFenced)
	one.Speak()
	select {
	case <-first.Lost():
	case <-time.After(time.Minute):
		t.Fatal("a dead node does not notice")
	}
	require.False(t, first.Sure())
	_, records := restored(t, second)
	require.Equal(t, []string{"a"}, records)

	// One that comes back by the name of a node that lives waits for its end.
	two.Silence()
	again := open(t, engine.Config{Access: engine.Access{URL: url}, Name: "two", Lease: lease})
	require.False(t, second.Sure())
	require.Eventually(t, func() bool { return again.Board().Owners()[0] == "" }, time.Minute, time.Millisecond)
	_, err = again.Own(t.Context(), 0)
	require.NoError(t, err)
	require.True(t, alone.Sure())
}

// A renewal of which the answer was lost stands on the board, and the node does not know. That is no
// other's word that it is dead.
func TestAnswerIsLost(t *testing.T) {
	t.Parallel()
	const lease = 4 * time.Second // of which the machine may take some
	url := serve(t)
	one := open(t, engine.Config{Access: engine.Access{URL: url}, Name: "one", Lease: lease})
	s, err := one.Own(t.Context(), 0)
	require.NoError(t, err)
	for range 8 {
		said, err := one.Board().Read(t.Context(), "node.one")
		require.NoError(t, err)
		if _, err := one.Board().Write(t.Context(), "node.one", said.Value, said.Revision); err != nil {
			require.ErrorIs(t, err, engine.ErrFenced) // it was renewed a moment ago
		}
		time.Sleep(lease / 3)
		require.True(t, s.Sure())
	}
	select {
	case <-s.Lost():
		t.Fatal("it took itself for dead")
	default:
	}
	appendAll(t, s, "a")
}

// A node that leaves is gone at once, also if it is just about to say something.
func TestLeavesAtOnce(t *testing.T) {
	t.Parallel()
	url := serve(t)
	one := node(t, url, "one", engine.DefaultLease)
	for k := range 40 {
		name := fmt.Sprint("node", k)
		e, err := engine.Open(t.Context(), engine.Config{Access: engine.Access{URL: url}, Name: name})
		require.NoError(t, err)
		e.Session().Say("something")
		time.Sleep(time.Duration(k) * 20 * time.Microsecond)
		e.Close()
		n, err := one.Board().Read(t.Context(), "node."+name)
		require.NoError(t, err)
		require.Empty(t, n.Value, name)
	}
}

// A shard whose release did not get through can be given up later, by its owner and by nobody else.
func TestDisown(t *testing.T) {
	t.Parallel()
	url := serve(t)
	one := open(t, engine.Config{Access: engine.Access{URL: url}, Name: "one"})
	two := open(t, engine.Config{Access: engine.Access{URL: url}, Name: "two"})
	s, err := one.Own(t.Context(), 1)
	require.NoError(t, err)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	s.Release(gone)
	_, err = two.Own(t.Context(), 1)
	require.ErrorIs(t, err, engine.ErrBusy)
	require.NoError(t, two.Disown(t.Context(), 1)) // it is not its own
	_, err = two.Own(t.Context(), 1)
	require.ErrorIs(t, err, engine.ErrBusy)
	require.NoError(t, one.Disown(t.Context(), 1))
	_, err = two.Own(t.Context(), 1)
	require.NoError(t, err)
	require.NoError(t, one.Disown(t.Context(), 1))
	_, err = one.Own(t.Context(), 1)
	require.ErrorIs(t, err, engine.ErrBusy)
}

// Entries of the board are replaced by who knows them, and all see them.
func TestBoard(t *testing.T) {
	t.Parallel()
	url := serve(t)
	one := open(t, engine.Config{Access: engine.Access{URL: url}, Name: "one"})
	two := open(t, engine.Config{Access: engine.Access{URL: url}, Name: "two"})
	first, err := one.Board().Write(t.Context(), "plan", []byte("a"), 0)
	require.NoError(t, err)
	_, err = two.Board().Write(t.Context(), "plan", []byte("b"), 0)
	require.ErrorIs(t, err, engine.ErrFenced)
	second, err := two.Board().Write(t.Context(), "plan", []byte("b"), first)
	require.NoError(t, err)
	_, err = one.Board().Write(t.Context(), "plan", []byte("c"), first)
	require.ErrorIs(t, err, engine.ErrFenced)
	require.Eventually(t, func() bool {
		notes, _ := one.Board().View("plan")
		return notes[""].Revision == second && string(notes[""].Value) == "b"
	}, time.Minute, time.Millisecond)
	require.Empty(t, one.Board().Members()) // they only look
	one.Session().Say("a")
	two.Session().Say("b")
	require.Eventually(t, func() bool { return len(one.Board().Members()) == 2 }, time.Minute, time.Millisecond)
	two.Close() // and is not waited for
	require.Eventually(t, func() bool { return len(one.Board().Members()) == 1 }, time.Minute, time.Millisecond)
}

// Secrets are not taken from where others see them.
func TestSecrets(t *testing.T) {
	t.Parallel()
	_, err := engine.Open(t.Context(), engine.Config{Access: engine.Access{URL: "nats://user:secret@127.0.0.1:1"}})
	require.ErrorIs(t, err, engine.ErrSecret)
	require.NotContains(t, err.Error(), "secret@")
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

// A record that is larger than the server takes is refused at once, and the log goes on.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]engine.Config{"within": {Dir: t.TempDir()}, "elsewhere": {Access: engine.Access{URL: serve(t)}}} {
		e := open(t, cfg)
		s, err := e.Own(t.Context(), 0)
		require.NoError(t, err)
		appendAll(t, s, "a")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		require.ErrorIs(t, s.Append(ctx, make([]byte, 2<<20)), engine.ErrTooLarge, name)
		if b := e.Board(); b != nil {
			require.ErrorIs(t, b.Put(ctx, "plan", make([]byte, 2<<20)), engine.ErrTooLarge, name)
		}
		cancel()
		appendAll(t, s, "b")
	}
	_, err := engine.Open(t.Context(), engine.Config{Access: engine.Access{URL: serveMessages(t, engine.MaxRecord)}})
	require.ErrorIs(t, err, engine.ErrTooLarge)
	require.ErrorContains(t, err, "max_payload")
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

// nodeOne returns a live node named one of a new cluster, with its part 0.
func nodeOne(t *testing.T, lease time.Duration) (cfg engine.Config, node *engine.Engine, s *engine.Shard) {
	t.Helper()
	cfg = engine.Config{Access: engine.Access{URL: serve(t)}, Name: "one", Lease: lease, Log: slog.New(slog.DiscardHandler)}
	node, err := engine.Open(t.Context(), cfg)
	require.NoError(t, err)
	s, err = node.Own(t.Context(), 0)
	require.NoError(t, err)
	return cfg, node, s
}

// Two live nodes cannot have one name: the second one is told so, and the first one goes on. One that ends in time
// is followed by the other.
func TestNamesake(t *testing.T) {
	t.Parallel()
	const lease = 2 * time.Second
	cfg, first, s := nodeOne(t, lease)
	_, err := engine.Open(t.Context(), engine.Impatient(cfg, 2*lease))
	require.ErrorIs(t, err, engine.ErrBusy)
	require.ErrorContains(t, err, "a node named one is at work")
	appendAll(t, s, "a")

	time.AfterFunc(3*lease, first.Close)
	open(t, engine.Impatient(cfg, time.Minute))
}

// Who asks for more replicas than the cluster began with is told that there are fewer: the state would else be thought
// to survive the loss of a server.
func TestFewerReplicas(t *testing.T) {
	t.Parallel()
	cfg, _, _ := nodeOne(t, time.Minute)
	for replicas, told := range map[int]bool{0: false, 1: false, 3: true} {
		var log bytes.Buffer
		cfg.Name, cfg.Replicas, cfg.Log = fmt.Sprint("n", replicas), replicas, slog.New(slog.NewTextHandler(&log, nil))
		open(t, cfg)
		require.Equal(t, told, strings.Contains(log.String(), "fewer replicas"), log.String())
	}
}

// Who only looks is no node: it may have the name of a live one, as where a node's own command line is given once
// more for a dry run, and takes the name from nobody.
func TestLooksByAnyName(t *testing.T) {
	t.Parallel()
	const lease = 2 * time.Second
	cfg, node, s := nodeOne(t, lease)
	appendAll(t, s, "a")
	looks := engine.Impatient(cfg, lease)
	looks.LookOnly = true
	e := open(t, looks)
	seen, err := e.Look(t.Context(), 0)
	require.NoError(t, err)
	_, records := restored(t, seen)
	require.Equal(t, []string{"a"}, records)
	node.Close()
	again, err := engine.Open(t.Context(), engine.Impatient(cfg, lease))
	require.NoError(t, err, "while the other one looks")
	again.Close()
}
