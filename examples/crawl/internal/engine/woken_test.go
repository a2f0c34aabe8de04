package engine_test

import (
	"bytes"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
)

func node(t *testing.T, url, name string, lease time.Duration) *engine.Engine {
	t.Helper()
	return open(t, engine.Config{Access: engine.Access{URL: url}, Name: name, Lease: lease})
}

// own takes a shard over when its owner is dead.
func own(t *testing.T, e *engine.Engine) *engine.Shard {
	t.Helper()
	for {
		s, err := e.Own(t.Context(), 0)
		if err == nil {
			return s
		}
		require.ErrorIs(t, err, engine.ErrBusy)
		time.Sleep(10 * time.Millisecond)
	}
}

func stored(t *testing.T, e *engine.Engine) int {
	t.Helper()
	n, err := e.Blobs(t.Context())
	require.NoError(t, err)
	return n
}

// A node that restores a shard and does not know that it lost it leaves the snapshots of the owner since as
// they are, also of one that has written no record. What nobody needs is swept by the next owner.
func TestSweep(t *testing.T) {
	t.Parallel()
	for name, written := range map[string][]string{"records": {"b", "c", "d"}, "no records": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := serve(t)
			one, two := node(t, url, "one", engine.DefaultLease), node(t, url, "two", engine.DefaultLease)
			one.Settle(0)
			two.Settle(0)
			before := own(t, one)
			appendAll(t, before, "a")
			require.NoError(t, before.Snapshot(t.Context(), before.Mark(), []byte("a")))
			first := own(t, one)
			state := "a"
			require.NoError(t, first.Restore(t.Context(), func([]byte) error {
				first.Release(t.Context()) // but it goes on, as one that was stopped and wakes up
				second := own(t, two)
				restored(t, second)
				for range 3 { // more than a pointer names
					require.NoError(t, second.Snapshot(t.Context(), second.Mark(), []byte(state)))
				}
				for _, r := range written {
					appendAll(t, second, r)
					state += r
					require.NoError(t, second.Snapshot(t.Context(), second.Mark(), []byte(state)))
				}
				appendAll(t, second, "e")
				return nil
			}, func([]byte) error { return nil }))
			require.ErrorIs(t, first.Snapshot(t.Context(), first.Mark(), []byte("late")), engine.ErrFenced)
			two.Close()
			got, records := restored(t, own(t, one))
			require.Equal(t, state, got)
			require.Equal(t, []string{"e"}, records)
			require.Equal(t, 2, stored(t, one))
		})
	}
}

// A node that is not sure of its shard deletes nothing. One that is keeps what the pointer names, also a
// snapshot that it cannot read: another may.
func TestSweepsWhatIsItsOwn(t *testing.T) {
	t.Parallel()
	one := node(t, serve(t), "one", 2*time.Second)
	before := own(t, one)
	appendAll(t, before, "a")
	require.NoError(t, before.Snapshot(t.Context(), before.Mark(), []byte("a")))
	require.NoError(t, before.Snapshot(t.Context(), before.Mark(), []byte("bad")))
	s := own(t, one)
	require.ErrorIs(t, before.Snapshot(t.Context(), before.Mark(), []byte("late")), engine.ErrFenced)
	one.Silence()
	require.Eventually(t, func() bool { return !s.Sure() }, time.Minute, time.Millisecond)
	restored(t, s)
	require.Equal(t, 3, stored(t, one))
	one.Speak()
	require.Eventually(t, s.Sure, time.Minute, time.Millisecond)
	restored(t, s)
	require.Equal(t, 2, stored(t, one))
}

// A node that is stopped while it takes a shard over does not end the chain of the owner since.
func TestTakenMeanwhile(t *testing.T) {
	t.Parallel()
	url := serve(t)
	one, two := node(t, url, "one", 2*time.Second), node(t, url, "two", 2*time.Second)
	then, err := one.Take(t.Context(), 0)
	require.NoError(t, err)
	one.Silence()
	second := own(t, two)
	appendAll(t, second, "a")
	_, err = then()
	require.ErrorIs(t, err, engine.ErrBusy)
	appendAll(t, second, "b")
}

// The answer to a pointer may be lost with the node that wrote it. The snapshot is the next owner's then, and
// not deleted when the node wakes up and finds that the pointer cannot be written again.
func TestPointerIsUnanswered(t *testing.T) {
	t.Parallel()
	url := serve(t)
	wire := newWire(t, strings.TrimPrefix(url, "nats://"), "PUB crawl.0.snap")
	one, two := node(t, "nats://"+wire.address, "one", 2*time.Second), node(t, url, "two", 2*time.Second)
	first := own(t, one)
	appendAll(t, first, "a")
	wire.armed.Store(true)
	failed := make(chan error, 1)
	go func() { failed <- first.Snapshot(t.Context(), first.Mark(), []byte("a")) }()
	second := own(t, two)
	state, _ := restored(t, second)
	require.Equal(t, "a", state)
	wire.mend()
	require.ErrorIs(t, <-failed, engine.ErrFenced)
	appendAll(t, second, "b")
	require.NoError(t, second.Snapshot(t.Context(), second.Mark(), []byte("bad")))
	two.Close()
	state, records := restored(t, own(t, node(t, url, "three", 2*time.Second)))
	require.Equal(t, "a", state)
	require.Equal(t, []string{"b"}, records)
}

// What a node deletes and purges after a snapshot may reach the server when another has the shard. Nothing
// that it needs is among that.
func TestLatePurge(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"STREAM.PURGE.OBJ_", "STREAM.PURGE.CRAWL"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			url := serve(t)
			wire := newWire(t, strings.TrimPrefix(url, "nats://"), text)
			wire.late = true
			one, two := node(t, "nats://"+wire.address, "one", 2*time.Second), node(t, url, "two", 2*time.Second)
			one.Settle(0) // or nothing would be deleted yet
			first := own(t, one)
			for _, r := range []string{"a", "b"} {
				appendAll(t, first, r)
				require.NoError(t, first.Snapshot(t.Context(), first.Mark(), []byte(r)))
			}
			appendAll(t, first, "c")
			wire.armed.Store(true)
			done := make(chan error, 1)
			go func() { done <- first.Snapshot(t.Context(), first.Mark(), []byte("bad")) }()
			second := own(t, two)
			state, records := restored(t, second)
			require.Equal(t, "b", state)
			require.Equal(t, []string{"c"}, records)
			appendAll(t, second, "d")
			wire.mend()
			<-done // in time or not
			two.Close()
			state, records = restored(t, own(t, node(t, url, "three", 2*time.Second)))
			require.Equal(t, "b", state)
			require.Equal(t, []string{"c", "d"}, records)
		})
	}
}

// A wire passes on what goes between a client and its server. If it is armed it does so until a client sends
// a text: the server hears that, unless it is to be late, and then nothing passes until the wire is mended.
type wire struct {
	address string
	text    []byte
	late    bool
	armed   atomic.Bool
	cut     atomic.Bool
	clock   serverClock
}

func newWire(t *testing.T, to, text string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	w := &wire{address: l.Addr().String(), text: []byte(text)}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				_ = client.Close()
				continue
			}
			go w.pass(client, server, func([]byte) {})
			go w.pass(server, client, w.clock.change)
		}
	}()
	return w
}

func (w *wire) pass(from, to net.Conn, change func([]byte)) {
	defer from.Close()
	defer to.Close()
	b := make([]byte, 64<<10)
	for {
		n, err := from.Read(b)
		said := bytes.Contains(b[:n], w.text) && w.armed.CompareAndSwap(true, false)
		if said && w.late {
			w.cut.Store(true)
		}
		for w.cut.Load() {
			time.Sleep(time.Millisecond)
		}
		if said && !w.late {
			w.cut.Store(true)
		}
		change(b[:n])
		if _, failed := to.Write(b[:n]); err != nil || failed != nil {
			return
		}
	}
}

func (w *wire) mend() { w.cut.Store(false) }
