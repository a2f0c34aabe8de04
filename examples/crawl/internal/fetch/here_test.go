package fetch

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
)

// noPort is the error of a connection for which the system has no port.
var noPort = &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.EADDRNOTAVAIL)}

// What a request fails by is told apart as net, net/http and both resolvers have it: a shortage of this machine, a
// host to which there is no way, and a host that is to blame.
func TestBlame(t *testing.T) {
	t.Parallel()
	dial := func(err error) func(context.Context, string, string) (net.Conn, error) {
		d := net.Dialer{Control: func(string, string, syscall.RawConn) error { return err }}
		return d.DialContext
	}
	direct := func(err error) *http.Transport { return &http.Transport{DialContext: dial(err)} }
	lookup := func(dns func(context.Context, string, string) (net.Conn, error)) *http.Transport {
		return &http.Transport{DialContext: (&net.Dialer{Resolver: &net.Resolver{PreferGo: true, Dial: dns}}).DialContext}
	}
	fails := func(err error) *http.Transport {
		return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return nil, err }}
	}
	const address, name = "http://127.0.0.1:9/", "http://a.recrawl.test/"
	for what, c := range map[string]struct {
		by   *http.Transport
		url  string
		want error
	}{
		"descriptors":            {direct(syscall.EMFILE), address, ErrRefused},
		"those of the system":    {direct(syscall.ENFILE), address, ErrRefused},
		"those for the name":     {lookup(dial(syscall.EMFILE)), name, ErrRefused},
		"memory":                 {direct(syscall.ENOBUFS), address, ErrRefused},
		"no such address here":   {fails(&net.OpError{Op: "dial", Err: os.NewSyscallError("bind", syscall.EADDRNOTAVAIL)}), address, ErrRefused},
		"no network":             {direct(syscall.ENETUNREACH), address, ErrNoWay},
		"no route":               {direct(syscall.EHOSTUNREACH), address, ErrNoWay},
		"no port":                {fails(noPort), address, ErrNoWay},
		"no network for a name":  {lookup(dial(syscall.ENETUNREACH)), name, ErrNoWay},
		"no name server":         {lookup(dial(syscall.ECONNREFUSED)), name, ErrNoWay},
		"a mute name server":     {lookup(func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }), name, ErrNoWay},
		"no such name":           {fails(&net.DNSError{Err: "no such host", IsNotFound: true}), name, nil},
		"nobody listens":         {direct(syscall.ECONNREFUSED), address, nil},
		"it may have been asked": {fails(&net.OpError{Op: "read", Err: syscall.ENOBUFS}), address, nil},
	} {
		timeout := time.Minute
		if strings.Contains(what, "mute") {
			timeout = 500 * time.Millisecond
		}
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url, nil)
		require.NoError(t, err)
		_, err = once{c.by}.RoundTrip(r)
		require.Error(t, err, what)
		for _, e := range []error{ErrRefused, ErrNoWay} {
			require.Equal(t, e == c.want, errors.Is(err, e), "%s: %v", what, err)
		}
		cancel()
	}
}

// A fickle web has no way to some hosts, or to any, or lacks what it takes to have one.
type fickle struct {
	mu    sync.Mutex
	bad   string // a host, or * for all
	err   error
	asked int
}

func (f *fickle) set(bad string, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bad, f.err, f.asked = bad, err, 0
}

func (f *fickle) RoundTrip(r *http.Request) (*http.Response, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	if f.bad == "*" || f.bad == r.URL.Host {
		return nil, blame(f.err, false)
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: r}, nil
}

// That there is no way to a host is its failure if another one is reached meanwhile. Else nothing is known, and
// after some hosts polls rest, for longer each time.
func TestNoWay(t *testing.T) {
	t.Parallel()
	noNames := &net.DNSError{Err: "server misbehaving", IsTemporary: true}
	web := &fickle{}
	f, err := New(Config{UserAgent: "test (+http://test.test)", Clock: clock.NewReal(), Points: []Point{{Name: "web", Base: web}}})
	require.NoError(t, err)
	poll := func(host string) error { return f.Poll(t.Context(), 1, page(host), nil).Err }

	web.set("bad.test", noNames)
	require.ErrorIs(t, poll("bad.test"), ErrHere)
	require.ErrorIs(t, poll("bad.test"), ErrHere, "nobody else was reached")
	require.Zero(t, f.Rests())
	require.NoError(t, poll("good.test"))
	require.ErrorIs(t, poll("bad.test"), ErrNoRobots)
	require.NotErrorIs(t, poll("bad.test"), ErrHere)
	require.NoError(t, poll("good.test"))

	for _, err := range []error{noNames, noPort} {
		web.set("*", err)
		for i := range down {
			require.Zero(t, f.Rests())
			require.ErrorIs(t, poll(fmt.Sprint(i, ".test")), ErrHere)
		}
		require.Positive(t, f.Rests())
		require.LessOrEqual(t, f.Rests(), shortestHalt)
		require.ErrorIs(t, poll("good.test"), ErrHere, "its robots.txt is known")
		web.set("", nil)
		require.NoError(t, poll("lucky.test"))
		require.Positive(t, f.Rests(), "where some requests can be sent fewer are to be")
		require.Equal(t, shortestHalt/2, f.points.halt.pause)
		f.points.halt.until = time.Time{}
		for i := range down {
			require.NoError(t, poll(fmt.Sprint(i, ".test")), "nothing was taken for its robots.txt")
		}
		require.Zero(t, f.Rests())
		require.Zero(t, f.points.halt.pause)
		f.robots.forget("http://0.test")
		f.robots.forget("http://1.test")
		f.robots.forget("http://2.test")
	}

	web.set("*", &net.OpError{Op: "dial", Err: syscall.EMFILE})
	require.ErrorIs(t, poll("good.test"), ErrHere)
	require.Positive(t, f.Rests())
	for want, pause := shortestHalt, time.Duration(0); pause < longestHalt; {
		pause = f.points.halt.pause
		require.Equal(t, min(want, longestHalt), pause)
		require.ErrorIs(t, poll("good.test"), ErrHere)
		require.Equal(t, pause, f.points.halt.pause, "of several attempts at a time one counts")
		f.points.halt.until = time.Time{}
		require.ErrorIs(t, poll("good.test"), ErrHere)
		want *= 2
	}

	web.set("*", &net.DNSError{Err: "no such host", IsNotFound: true})
	require.NotErrorIs(t, poll("good.test"), ErrHere, "a name that does not exist is the host's failure")
}

// A doubt that is old says nothing: the network may have been gone since.
func TestOldDoubt(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r := reach{doubts: map[string]doubt{}}
	for _, c := range []struct {
		later time.Duration
		want  verdict
	}{{0, nobody}, {doubtAge - 1, theHost}, {doubtAge, nobody}} {
		now = now.Add(c.later)
		require.Equal(t, c.want, r.fails("bad.test", now))
		r.reaches("good.test")
	}
	require.Equal(t, nobody, r.fails("bad.test", now.Add(doubtAge)))
	r.reaches("bad.test")
	require.Empty(t, r.doubts)
	for i := range 2 * mostDoubts {
		r.fails(fmt.Sprint(i), now)
	}
	require.LessOrEqual(t, len(r.doubts), mostDoubts)
}

// A poll that was ended says nothing of this machine.
func TestEndedPollIsNoShortage(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	f := newTestFetcher(t, Point{Name: "web", Base: ending{cancel}})
	require.ErrorIs(t, f.Poll(ctx, 1, page("a.test"), nil).Err, context.Canceled)
	require.Zero(t, f.Rests())
}

// An ending web ends who asks it.
type ending struct{ end func() }

func (e ending) RoundTrip(*http.Request) (*http.Response, error) {
	e.end()
	return nil, fmt.Errorf("%w: %w", ErrRefused, context.Canceled)
}

// That there is no way from this machine says nothing of an access point's speed.
func TestNoWayIsNotSlow(t *testing.T) {
	t.Parallel()
	web := &fickle{}
	f := newTestFetcher(t, Point{Name: "one", Base: web}, Point{Name: "two", Base: web})
	for range 4 {
		require.NoError(t, f.Poll(t.Context(), 1, page("a.test"), nil).Err)
	}
	known := func() []byte {
		saved, err := f.Saved(0)
		require.NoError(t, err)
		known, _, ok := bytes.Cut(saved, []byte("pcg:")) // that another number was drawn does not matter
		require.True(t, ok)
		return known
	}
	before := known()
	web.set("a.test", noPort)
	require.ErrorIs(t, f.Poll(t.Context(), 1, page("a.test"), nil).Err, ErrHere)
	require.Equal(t, before, known())
}
