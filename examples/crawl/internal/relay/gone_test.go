package relay

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
)

// begin begins a request, and returns how it ends once the relay has it.
func (n *node) begin(t *testing.T, ctx context.Context, p *Peer, url string) <-chan error {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	ended, before := make(chan error, 1), n.server.Sent()
	go func() {
		resp, err := p.RoundTrip(r)
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
		}
		ended <- err
	}()
	require.Eventually(t, func() bool { return n.server.Sent() > before }, time.Minute, time.Millisecond)
	return ended
}

// A relay that is gone refuses, and is left alone for longer each time. One that goes while it has
// a request is lost, and so is one that says nothing.
func TestGone(t *testing.T) {
	t.Parallel()
	var b board
	web := hosts(t)
	n := newNode(t, &b, plain(), 0)
	id := newMember(t, &b)
	p := n.peer(t, id)
	for _, end := range []func(){p.Close, func() { _ = n.server.http.Close() }} {
		ended := n.begin(t, t.Context(), p, web.URL+"/silent")
		end()
		require.ErrorIs(t, <-ended, fetch.ErrLost)
		require.False(t, p.Ready()) // or each host would have to wait for it
		p = n.peer(t, id)
	}
	// In the middle of an answer, too.
	again := newNode(t, &b, plain(), 0)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, web.URL+"/stalls", nil)
	require.NoError(t, err)
	breaks := again.peer(t, id)
	resp, err := breaks.RoundTrip(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.True(t, breaks.Ready())
	_ = again.server.http.Close()
	_, err = io.ReadAll(resp.Body)
	require.ErrorIs(t, err, fetch.ErrLost)
	require.False(t, breaks.Ready())

	require.True(t, p.Ready())
	_, _, err = get(t, p, web.URL+"/echo", 10*time.Second)
	require.ErrorIs(t, err, fetch.ErrRefused)
	require.False(t, p.Ready())
	require.Equal(t, shortestRest, p.last)
	for range 20 {
		p.rest = time.Now()
		_, _, err = get(t, p, web.URL+"/echo", 10*time.Second)
		require.ErrorIs(t, err, fetch.ErrRefused)
	}
	require.Equal(t, longestRest, p.last)
	mute, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and is stopped
	require.NoError(t, err)
	defer mute.Close()
	began := time.Now()
	_, _, err = get(t, NewPeer(id, mute.Addr().String(), n.identity.Key), web.URL+"/echo", time.Minute)
	require.ErrorIs(t, err, fetch.ErrRefused)
	require.Less(t, time.Since(began), 10*reach)
	require.False(t, errors.Is(err, fetch.ErrLost))
	// Who asked gives it up before there is a connection: the relay is not to blame, and nothing was sent.
	p = NewPeer(id, mute.Addr().String(), n.identity.Key)
	_, err = mute.Accept() // the one before
	require.NoError(t, err)
	go func() {
		_, _ = mute.Accept()
		p.Close()
	}()
	_, _, err = get(t, p, web.URL+"/echo", time.Minute)
	require.ErrorIs(t, err, fetch.ErrRefused)
	require.Zero(t, p.last)
}

// lingering is a connection whose relay answers between the two steps of its end: TLS says goodbye
// before the connection is closed.
type lingering struct {
	*tls.Conn
	leaving  atomic.Bool
	answered chan struct{}
	closed   chan struct{}
	once     sync.Once
}

func (l *lingering) Read(p []byte) (int, error) {
	n, err := l.Conn.Read(p)
	if n > 0 && l.leaving.CompareAndSwap(true, false) {
		close(l.answered)
	}
	return n, err
}

func (l *lingering) Close() error {
	defer l.once.Do(func() { close(l.closed) })
	l.leaving.Store(true)
	_ = l.CloseWrite()
	select {
	case <-l.answered:
		time.Sleep(10 * time.Millisecond) // until it is read to its end
	case <-time.After(time.Second):
	}
	return l.Conn.Close()
}

// A relay is not left alone because who asked gave up, without waiting for as long as it might.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	var b board
	web := hosts(t)
	n := newNode(t, &b, plain(), 0)
	p := n.peer(t, newMember(t, &b))
	ctx, cancel := context.WithCancel(t.Context())
	ended := n.begin(t, ctx, p, web.URL+"/silent")
	cancel()
	require.ErrorIs(t, <-ended, fetch.ErrLost)
	require.True(t, p.Ready())
}

// What a relay says of a request that ended because its peer was closed, or who asked gave up, is not the word of a
// host. It comes too late for some to read it, and then that is tried again.
func TestAnswerAfterClose(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/silent", "/stalls"} {
		for _, closes := range []bool{true, false} {
			for !answersAfterEnd(t, path, closes) {
			}
		}
	}
}

// answersAfterEnd ends a request, and reports whether what its relay then said was read.
func answersAfterEnd(t *testing.T, path string, closes bool) bool {
	t.Helper()
	var b board
	web := hosts(t)
	n := newNode(t, &b, plain(), 0)
	p := n.peer(t, newMember(t, &b))
	answered, closed := make(chan struct{}), make(chan struct{})
	dial := p.transport.DialTLSContext
	p.transport.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &lingering{Conn: c.(*tls.Conn), answered: answered, closed: closed}, nil
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := n.begin(t, ctx, p, web.URL+path)
	if closes {
		p.Close()
	} else {
		cancel()
	}
	require.ErrorIs(t, <-ended, fetch.ErrLost)
	<-closed
	select {
	case <-answered:
		return true
	default:
		return false
	}
}
