package relay

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/examples/crawl/internal/testnet"
)

// A board is who is a member.
type board struct{ keys sync.Map }

func (b *board) has(key string) bool { _, ok := b.keys.Load(key); return ok }

// A node is one that offers itself.
type node struct {
	identity *Identity
	server   *Server
	listener net.Listener
	sure     atomic.Bool
}

func newNode(t *testing.T, b *board, to http.RoundTripper, turns int) *node {
	t.Helper()
	n := &node{identity: newMember(t, b)}
	n.sure.Store(true)
	n.server = NewServer(Config{
		Identity: n.identity, Base: to, Member: b.has, Sure: n.sure.Load, turns: turns,
	})
	var err error
	n.listener, err = net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	done := make(chan error, 1)
	go func() { done <- n.server.Serve(n.listener) }()
	t.Cleanup(func() {
		_ = n.server.http.Close()
		require.NoError(t, <-done)
	})
	return n
}

func newMember(t *testing.T, b *board) *Identity {
	t.Helper()
	id, err := NewIdentity()
	require.NoError(t, err)
	b.keys.Store(id.Key, true)
	return id
}

// peer returns the node's relay as others see it.
func (n *node) peer(t *testing.T, id *Identity) *Peer {
	t.Helper()
	p := NewPeer(id, n.listener.Addr().String(), n.identity.Key)
	t.Cleanup(p.Close)
	return p
}

// get gets a URL with some headers; a timeout of 0 is none.
func get(t *testing.T, by http.RoundTripper, url string, timeout time.Duration, headers ...string) (*http.Response, string, error) {
	t.Helper()
	ctx := t.Context()
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	require.NoError(t, err)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := by.RoundTrip(r)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp, string(body), err
}

// plain is a way to the web that does nothing of its own accord.
func plain() http.RoundTripper { return &http.Transport{} }

// hosts behave in the ways that a relay has to pass on.
func hosts(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/echo":
			for name := range r.Header {
				fmt.Fprintln(w, name+": "+r.Header.Get(name))
			}
			fmt.Fprintln(w, r.Method, r.Host, r.URL.RawQuery)
		case "/liar":
			w.Header().Set(refusedHeader, "me")
			w.Header().Set(failedHeader, "me")
			w.Header().Set("Connection", "X-Hop")
			w.Header().Set("X-Hop", "1")
		case "/gzip":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			_, _ = z.Write([]byte(strings.Repeat("text ", 1000)))
			_ = z.Close()
		case "/moved":
			http.Redirect(w, r, "/echo", http.StatusFound)
		case "/cut", "/stalls":
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, "half")
			_ = http.NewResponseController(w).Flush()
			if r.URL.Path == "/stalls" {
				<-r.Context().Done()
			}
			panic(http.ErrAbortHandler)
		case "/silent":
			<-r.Context().Done()
		case "/same":
			w.WriteHeader(http.StatusNotModified)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// What a host answers is what arrives, and so is what it does not.
func TestPass(t *testing.T) {
	t.Parallel()
	var b board
	web := hosts(t)
	n := newNode(t, &b, plain(), 0)
	p := n.peer(t, newMember(t, &b))
	resp, body, err := get(t, p, web.URL+"/echo?a=b", 10*time.Second, "User-Agent", "me", "If-None-Match", `"x"`, "Recrawl-Extra", "1", "Te", "trailers")
	require.NoError(t, err)
	require.Equal(t, web.URL+"/echo?a=b", resp.Request.URL.String())
	require.Contains(t, body, "User-Agent: me\n")
	require.Contains(t, body, "If-None-Match: \"x\"\n")
	require.Contains(t, body, "GET "+strings.TrimPrefix(web.URL, "http://")+" a=b\n")
	require.NotContains(t, body, "Recrawl-")
	require.NotContains(t, body, "Te:")
	resp, _, err = get(t, p, web.URL+"/liar", 10*time.Second)
	require.NoError(t, err)
	require.Empty(t, resp.Header.Get("X-Hop"))
	_, body, err = get(t, p, web.URL+"/gzip", 10*time.Second)
	require.NoError(t, err)
	require.Len(t, body, 5000)
	resp, _, err = get(t, p, web.URL+"/moved", 10*time.Second)
	require.NoError(t, err)
	require.Equal(t, http.StatusFound, resp.StatusCode)
	resp, _, err = get(t, p, web.URL+"/same", 10*time.Second)
	require.NoError(t, err)
	require.Equal(t, http.StatusNotModified, resp.StatusCode)
	long := strings.Repeat("a", fetch.LongestHeader-1000) // a redirect may lead there
	resp, body, err = get(t, p, web.URL+"/echo?"+long, 10*time.Second)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode)
	require.Contains(t, body, long)
	for _, path := range []string{"/cut", "/stalls"} {
		// The relay's word is waited for, which is another one if the machine had no time for the first half.
		for p.usual, body = time.Second, ""; body == "" && p.usual < time.Minute; p.usual *= 2 {
			resp, body, err = get(t, p, web.URL+path, 0)
		}
		require.NotNil(t, resp)
		require.Error(t, err, path)
		require.NotErrorIs(t, err, fetch.ErrLost, path)
		require.Equal(t, "half", body, path)
	}
	// A host that fails is not a relay that does.
	for _, url := range []string{web.URL + "/silent", "http://" + testnet.FreeAddress(t)} {
		_, _, err = get(t, p, url, 0)
		require.Error(t, err)
		require.NotErrorIs(t, err, fetch.ErrLost)
		require.NotErrorIs(t, err, fetch.ErrRefused)
	}
}

// A way is a function that sends requests.
type way func(r *http.Request) (*http.Response, error)

func (w way) RoundTrip(r *http.Request) (*http.Response, error) { return w(r) }

// By what a host answered is told, as archives have it, and not by what the relay does.
func TestProtocol(t *testing.T) {
	t.Parallel()
	var b board
	proto := ""
	host := way(func(r *http.Request) (*http.Response, error) {
		header := http.Header{protoHeader: {"HTTP/1.1"}} // a liar
		return &http.Response{StatusCode: http.StatusOK, Proto: proto, Header: header, Body: http.NoBody, Request: r}, nil
	})
	n := newNode(t, &b, host, 0)
	p := n.peer(t, newMember(t, &b))
	for _, proto = range []string{"HTTP/1.0", "HTTP/1.1", "HTTP/2.0"} {
		resp, _, err := get(t, p, "http://a.test/", 0)
		require.NoError(t, err)
		require.Equal(t, proto, resp.Proto)
		require.Empty(t, resp.Header.Values(protoHeader))
	}
}

// A relay gives up before who asked does, so that its word arrives in time.
func TestWordInTime(t *testing.T) {
	t.Parallel()
	var b board
	ends := make(chan time.Time, 1)
	n := newNode(t, &b, way(func(r *http.Request) (*http.Response, error) {
		until, _ := r.Context().Deadline()
		ends <- until
		return nil, errors.New("no answer")
	}), 0)
	const timeout = 4 * time.Minute
	asked := time.Now()
	_, _, err := get(t, n.peer(t, newMember(t, &b)), "http://host.test/", timeout)
	require.ErrorContains(t, err, "no answer")
	until := <-ends
	require.True(t, until.Before(asked.Add(timeout)))
	require.True(t, until.After(asked.Add(timeout/2)))
}

// Who is not on the board gets nothing sent, nor does who was.
func TestMembersOnly(t *testing.T) {
	t.Parallel()
	var b, other board
	web := hosts(t)
	n := newNode(t, &b, plain(), 0)
	_, _, err := get(t, n.peer(t, newMember(t, &other)), web.URL+"/echo", 10*time.Second)
	require.ErrorIs(t, err, fetch.ErrRefused) // so that the host need not wait
	require.NotContains(t, err.Error(), web.URL)
	// Without a key, and in plain text.
	bare := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	for _, scheme := range []string{"https://", "http://"} {
		resp, _, err := get(t, bare, scheme+n.listener.Addr().String(), 10*time.Second, targetHeader, web.URL+"/echo", timeoutHeader, "1s")
		require.True(t, err != nil || resp.StatusCode == http.StatusBadRequest, scheme)
	}
	// Who was one, on a connection from then.
	member := newMember(t, &b)
	p := n.peer(t, member)
	_, _, err = get(t, p, web.URL+"/echo", 10*time.Second)
	require.NoError(t, err)
	require.EqualValues(t, 1, n.server.Sent())
	b.keys.Delete(member.Key)
	_, _, err = get(t, p, web.URL+"/echo", 10*time.Second)
	require.ErrorIs(t, err, fetch.ErrRefused)
	// And who is at the address of a relay, but is another one.
	impostor := NewPeer(newMember(t, &b), n.listener.Addr().String(), member.Key)
	defer impostor.Close()
	_, _, err = get(t, impostor, web.URL+"/echo", 10*time.Second)
	require.ErrorIs(t, err, fetch.ErrRefused)
	require.EqualValues(t, 1, n.server.Sent())
}

// A relay sends nothing while it is busy or not sure, to its own network, or that is no request.
func TestRefuse(t *testing.T) {
	t.Parallel()
	var b board
	web := hosts(t)
	n := newNode(t, &b, plain(), 1)
	p := n.peer(t, newMember(t, &b))
	n.sure.Store(false)
	_, _, err := get(t, p, web.URL+"/echo", 10*time.Second)
	require.ErrorIs(t, err, fetch.ErrRefused)
	require.Zero(t, n.server.Sent())
	n.sure.Store(true)
	busy, answer := make(chan error, 1), make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-answer }))
	defer slow.Close()
	go func() {
		_, _, err := get(t, p, slow.URL, time.Minute)
		busy <- err
	}()
	require.Eventually(t, func() bool { return n.server.Sent() == 1 }, time.Minute, time.Millisecond)
	_, _, err = get(t, p, web.URL+"/echo", 10*time.Second)
	close(answer)
	require.ErrorIs(t, err, fetch.ErrRefused)
	require.NoError(t, <-busy)
	require.Eventually(t, func() bool { return len(n.server.turns) == 0 }, time.Minute, time.Millisecond)
	_, _, err = get(t, p, web.URL+"/echo", 10*time.Second)
	require.NoError(t, err)
	for _, url := range []string{"ftp://host.test/", "/echo"} {
		_, _, err = get(t, p, url, 10*time.Second)
		require.ErrorIs(t, err, fetch.ErrRefused)
	}
	require.EqualValues(t, 2, n.server.Sent())
	direct, err := fetch.ParsePoint("direct", true)
	require.NoError(t, err)
	guarded := newNode(t, &b, direct.Base, 0)
	_, _, err = get(t, guarded.peer(t, newMember(t, &b)), web.URL+"/echo", 10*time.Second)
	require.ErrorIs(t, err, fetch.ErrRefused)
	require.Zero(t, guarded.server.Sent())
	require.ErrorContains(t, err, "not a public address")
}

// Whatever a host answers is its own affair: the relay is there for the next request.
func TestOddAnswers(t *testing.T) {
	t.Parallel()
	var b board
	host, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer host.Close()
	answers := make(chan string, 1)
	go func() {
		for {
			c, err := host.Accept()
			if err != nil {
				return
			}
			if _, err = http.ReadRequest(bufio.NewReader(c)); err == nil {
				_, _ = io.WriteString(c, <-answers)
			}
			_ = c.Close()
		}
	}()
	direct, err := fetch.ParsePoint("direct", false)
	require.NoError(t, err)
	n := newNode(t, &b, direct.Base, 0)
	p := n.peer(t, newMember(t, &b))
	head := func(of int) string { return strings.Repeat("a", of-len("X-Long: ")) }
	const start = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX-Long: "
	for answer, fails := range map[string]bool{
		"HTTP/1.1 000 Odd\r\n\r\n":                         true,
		"HTTP/1.1 099 Odd\r\nContent-Length: 1\r\n\r\na":   true,
		"HTTP/1.1 101 Odd\r\nUpgrade: x\r\n\r\na":          true,
		"HTTP/1.1 999 Odd\r\nContent-Length: 1\r\n\r\na":   false,
		start + head(fetch.LongestHeader-100) + "\r\n\r\n": false,
		start + head(fetch.LongestHeader+100) + "\r\n\r\n": true,
		start + head(11<<20) + "\r\n\r\n":                  true,
	} {
		answers <- answer
		err := fetch.ErrAgain
		for errors.Is(err, fetch.ErrAgain) { // on the connection that the host closed behind the answer before
			_, _, err = get(t, p, "http://"+host.Addr().String(), time.Minute)
		}
		require.Equal(t, fails, err != nil, "%.20q: %v", answer, err)
		require.NotErrorIs(t, err, fetch.ErrLost, "%.20q", answer)
		require.True(t, p.Ready(), "%.20q", answer)
	}
}

// A body that is not what its Content-Encoding says is the host's fault, and the relay is not lost: or
// the page would be polled for ever.
func TestBrokenGzip(t *testing.T) {
	t.Parallel()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(bytes.Repeat([]byte("text "), 1000))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	whole := packed.String()
	wrong := []byte(whole)
	wrong[len(wrong)/2] ^= 0xff
	bodies := map[string]string{"/plain": "<p>text</p>", "/half": whole[:len(whole)/2], "/wrong": string(wrong), "/whole": whole, "/empty": "", "/tail": whole + "\n"}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		_, _ = io.WriteString(w, bodies[r.URL.Path])
	}))
	t.Cleanup(web.Close)
	var b board
	direct, err := fetch.ParsePoint("direct", false)
	require.NoError(t, err)
	p := newNode(t, &b, direct.Base, 0).peer(t, newMember(t, &b))
	for path := range bodies {
		_, want, failed := get(t, direct.Base, web.URL+path, time.Minute)
		resp, body, err := get(t, p, web.URL+path, time.Minute)
		require.Equal(t, failed, err, path) // of the host
		require.Equal(t, want, body, path)
		require.NotErrorIs(t, err, fetch.ErrLost, path)
		require.True(t, resp.Uncompressed, path)
		require.Empty(t, resp.Header.Get("Content-Encoding"), path)
	}
	// Who asked for a coding gets it as it came.
	_, body, err := get(t, p, web.URL+"/whole", time.Minute, "Accept-Encoding", "gzip")
	require.NoError(t, err)
	require.Equal(t, whole, body)
}

// A request on a kept connection that the host closes is not sent again by the relay: who asked knows the
// delay of the host.
func TestHostHangsUp(t *testing.T) {
	t.Parallel()
	host, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer host.Close()
	var asked atomic.Int64
	go func() {
		for {
			c, err := host.Accept()
			if err != nil {
				return
			}
			in := bufio.NewReader(c)
			for first := true; ; first = false {
				if _, err := http.ReadRequest(in); err != nil {
					break
				}
				if asked.Add(1); !first {
					break
				}
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\n")
			}
			_ = c.Close()
		}
	}()
	var b board
	direct, err := fetch.ParsePoint("direct", false)
	require.NoError(t, err)
	p := newNode(t, &b, direct.Base, 0).peer(t, newMember(t, &b))
	url := "http://" + host.Addr().String()
	_, _, err = get(t, p, url, time.Minute)
	require.NoError(t, err)
	_, _, err = get(t, p, url, time.Minute)
	require.ErrorIs(t, err, fetch.ErrAgain)
	require.EqualValues(t, 2, asked.Load())
	require.True(t, p.Ready())
	_, _, err = get(t, p, url, time.Minute)
	require.NoError(t, err)
}

// An error whose text no header can have is passed on without what is in the way.
func TestOddError(t *testing.T) {
	t.Parallel()
	var b board
	n := newNode(t, &b, failing("valid for \x01\r\n\x7f, not for ü\xff"), 0)
	p := n.peer(t, newMember(t, &b))
	_, _, err := get(t, p, "http://a.test", time.Minute)
	require.ErrorContains(t, err, "valid for     , not for ü")
	require.NotErrorIs(t, err, fetch.ErrLost)
}

// A failing way to the web says why.
type failing string

func (f failing) RoundTrip(*http.Request) (*http.Response, error) { return nil, errors.New(string(f)) }

// A node that can send no request on refuses it: who asked has ways of its own, and the host is not to blame.
func TestNoWayOn(t *testing.T) {
	t.Parallel()
	for _, err := range []error{fetch.ErrRefused, fetch.ErrNoWay} {
		b := &board{}
		n := newNode(t, b, lacking{err}, 0)
		_, _, err := get(t, n.peer(t, newMember(t, b)), "http://a.test/", time.Minute)
		require.ErrorIs(t, err, fetch.ErrRefused)
		require.Zero(t, n.server.Sent())
	}
}

// A lacking machine has no way on.
type lacking struct{ error }

func (s lacking) RoundTrip(*http.Request) (*http.Response, error) { return nil, s.error }

// A relay that was stopped while it connected to a host, and woke up when it was not sure any more, sends
// nothing.
func TestNotSureWhenConnected(t *testing.T) {
	t.Parallel()
	var b board
	proxy, err := net.Listen("tcp", "127.0.0.1:0") // of SOCKS, and the host behind it
	require.NoError(t, err)
	defer proxy.Close()
	by, err := fetch.ParsePoint("socks5://"+proxy.Addr().String(), false)
	require.NoError(t, err)
	n := newNode(t, &b, by.Base, 0)
	got := make(chan string, 1)
	go func() {
		c, err := proxy.Accept()
		if err != nil {
			got <- err.Error()
			return
		}
		defer c.Close()
		in := make([]byte, 1000)
		_, _ = c.Read(in)
		_, _ = c.Write([]byte{5, 0})
		_, _ = c.Read(in)
		n.sure.Store(false)
		_, _ = c.Write([]byte{5, 0, 0, 1, 127, 0, 0, 1, 0, 80})
		k, _ := c.Read(in)
		got <- string(in[:k])
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	}()
	p := n.peer(t, newMember(t, &b))
	_, _, err = get(t, p, "http://a.test/page", time.Minute)
	require.Empty(t, <-got)
	require.ErrorIs(t, err, fetch.ErrRefused)
	require.Zero(t, n.server.Sent())
}

// An over is a context whose time is over when its channel is closed.
type over struct {
	context.Context
	done chan struct{}
}

func (o over) Done() <-chan struct{} { return o.done }

func (o over) Err() error {
	select {
	case <-o.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// An answer that is too long for the way from the relay takes the time that there is, and is a failure: if it did not
// count it would be asked for again and again, by the same relay.
func TestSlowWay(t *testing.T) {
	t.Parallel()
	var b board
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		_, _ = w.Write(make([]byte, 32<<20))
	}))
	t.Cleanup(web.Close)
	n := newNode(t, &b, plain(), 0)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() { // passes the bytes on, those of the relay slowly
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		to, err := net.Dial("tcp", n.listener.Addr().String())
		if err != nil {
			return
		}
		defer to.Close()
		go func() { _, _ = io.Copy(to, c) }()
		for err == nil {
			_, err = io.CopyN(c, to, 16<<10)
			time.Sleep(10 * time.Millisecond)
		}
	}()
	p := NewPeer(newMember(t, &b), l.Addr().String(), n.identity.Key)
	t.Cleanup(p.Close)
	ctx := over{t.Context(), make(chan struct{})}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, web.URL, nil)
	require.NoError(t, err)
	resp, err := p.RoundTrip(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	_, err = io.CopyN(io.Discard, resp.Body, 1<<20) // it has begun
	require.NoError(t, err)
	close(ctx.done)
	_, err = io.Copy(io.Discard, resp.Body)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.NotErrorIs(t, err, fetch.ErrLost)
}
