package engine_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
)

// far is a server of its own whose machine may lose power.
type far struct {
	t       *testing.T
	options server.Options
	server  *server.Server
	url     string
}

func serveFrom(t *testing.T, dir string) *far {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	f := &far{t: t, options: server.Options{Host: "127.0.0.1", Port: port, NoSigs: true, NoLog: true, JetStream: true, StoreDir: dir}}
	f.url = fmt.Sprintf("nats://127.0.0.1:%d", port)
	f.start()
	t.Cleanup(f.stop)
	return f
}

func (f *far) start() {
	if f == nil {
		return
	}
	f.t.Helper()
	options := f.options
	s, err := server.NewServer(&options)
	require.NoError(f.t, err)
	s.Start()
	require.True(f.t, s.ReadyForConnections(10e9))
	f.server = s
}

func (f *far) stop() {
	if f != nil {
		f.server.Shutdown()
		f.server.WaitForShutdown()
	}
}

// keep keeps what a stream has, or all that the server has if it has no name, and returns how to go back there.
func (f *far) keep(stream string) (back func()) {
	dir, before := f.options.StoreDir, f.t.TempDir()
	if stream != "" {
		dir = messages(dir, stream)
	}
	f.stop()
	replace(f.t, before, dir)
	f.start()
	return func() {
		f.stop()
		replace(f.t, dir, before)
		f.start()
	}
}

// Servers that lost the end of what they had begin with earlier revisions. A node that dies then is declared
// dead, and its shards are another's.
func TestServersLoseTheEnd(t *testing.T) {
	t.Parallel()
	f := serveFrom(t, t.TempDir())
	const lease = 4 * time.Second // of which the machine may take some
	one, two := node(t, f.url, "one", lease), node(t, f.url, "two", lease)
	s := own(t, two)
	appendAll(t, s, "a")
	back := f.keep("")
	for i := range 1000 { // more than will be said in this test
		require.NoError(t, one.Board().Put(t.Context(), "price.0", fmt.Append(nil, i)))
	}
	require.Eventually(t, func() bool {
		notes, _ := one.Board().View("price.0")
		return string(notes[""].Value) == "999"
	}, time.Minute, time.Millisecond)
	back()
	require.Eventually(t, func() bool { return one.Session().Settled() && two.Session().Settled() }, time.Minute, time.Millisecond)
	two.Silence()
	require.Eventually(t, func() bool {
		_, err := one.Own(t.Context(), 0)
		return err == nil
	}, 30*time.Second, 10*time.Millisecond)
	require.Eventually(t, func() bool { return one.Board().Owners()[0] == "one" }, time.Minute, time.Millisecond)
	notes, _ := one.Board().View("price.0")
	require.Empty(t, notes)
}

// While the board is read anew, as after a server was begun anew, the view lacks nothing.
func TestViewIsWhole(t *testing.T) {
	t.Parallel()
	f := serveFrom(t, t.TempDir())
	one := node(t, f.url, "one", 2*time.Second)
	const n = 1000
	put := func(i int) { require.NoError(t, one.Board().Put(t.Context(), fmt.Sprint("price.", i), []byte("a"))) }
	seen := func() int {
		notes, _ := one.Board().View("price.")
		return len(notes)
	}
	for i := range n {
		put(i)
	}
	require.Eventually(t, func() bool { return seen() == n }, time.Minute, time.Millisecond)
	f.stop()
	f.start()
	put(n)
	for began, now := time.Now(), n; now == n; now = seen() {
		require.Less(t, time.Since(began), time.Minute)
	}
	require.Equal(t, n+1, seen())
}

// A silent node is declared dead also by one whose view is not of what is there, and one that spoke is not.
func TestJudge(t *testing.T) {
	t.Parallel()
	const lease = time.Second
	url := serve(t)
	one, two := node(t, url, "one", lease), node(t, url, "two", lease)
	own(t, two)
	require.Eventually(t, func() bool { return one.Board().Owners()[0] == "two" }, time.Minute, time.Millisecond)
	one.Silence()                             // so that it buries nobody of its own accord, and hears nothing more
	three := node(t, url, "three", time.Hour) // judges nobody either, for a while
	require.Eventually(t, func() bool { return three.Board().Owners()[0] == "two" }, time.Minute, time.Millisecond)
	there := func() bool {
		said, err := three.Board().Read(t.Context(), "node.two")
		require.NoError(t, err)
		return len(said.Value) > 0
	}
	time.Sleep(2 * lease)
	one.Judge(t.Context(), "two", 0)
	three.Judge(t.Context(), "two", 1000)
	require.True(t, there())

	two.Silence()
	one.Judge(t.Context(), "two", 0) // what it now sees is new to it
	require.True(t, there())
	time.Sleep(lease * 5 / 4)
	t.Run("by what it read before", func(t *testing.T) {
		one.Judge(t.Context(), "two", 0)
		require.False(t, there())
	})

	four := node(t, url, "four", lease)
	require.Eventually(t, func() bool { return three.Board().Owners()[0] == "" }, time.Minute, time.Millisecond)
	own(t, four)
	require.Eventually(t, func() bool { return three.Board().Owners()[0] == "four" }, time.Minute, time.Millisecond)
	four.Silence()
	time.Sleep(lease * 5 / 4)
	t.Run("by what arrived", func(t *testing.T) {
		three.Judge(t.Context(), "four", 1000)
		require.Eventually(t, func() bool { return three.Board().Owners()[0] == "" }, time.Minute, time.Millisecond)
	})
}

// Servers that lose the end of the log while it is read are not waited for without end.
func TestEndIsLostMeanwhile(t *testing.T) {
	t.Parallel()
	f := serveFrom(t, t.TempDir())
	one := node(t, f.url, "one", time.Hour)
	fill(t, own(t, one), "a")
	back := f.keep("")
	s := own(t, one)
	appendAll(t, s, "b", "c")
	s = own(t, one)
	err := s.Restore(t.Context(), func([]byte) error {
		back()
		return nil
	}, func([]byte) error { return nil })
	require.ErrorIs(t, err, engine.ErrState)
	require.ErrorContains(t, err, "lost while it was read")
	_, records := restored(t, own(t, one))
	require.Empty(t, records)
}

// messages is where a server keeps the messages of a stream.
func messages(store, stream string) string {
	return filepath.Join(store, "jetstream", "$G", "streams", stream, "msgs")
}

// replace puts what a folder was before in its place.
func replace(t *testing.T, dir, before string) {
	t.Helper()
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.CopyFS(dir, os.DirFS(before)))
}

// fill stores records with a snapshot after each, and returns the place after the last one.
func fill(t *testing.T, s *engine.Shard, states ...string) engine.Mark {
	t.Helper()
	for _, state := range states {
		appendAll(t, s, state[len(state)-1:])
		require.NoError(t, s.Snapshot(t.Context(), s.Mark(), []byte(state)))
	}
	return s.Mark()
}
