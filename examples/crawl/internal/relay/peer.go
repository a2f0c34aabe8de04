package relay

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
)

const (
	// reach is the time for a connection to a relay, and idle that for which it is kept.
	reach = 2 * time.Second
	idle  = time.Minute
	// A relay that cannot be reached is left alone for shortestRest, then twice as long, up to
	// longestRest.
	shortestRest = time.Second
	longestRest  = 5 * time.Minute
	// lostRest is for how long one is left alone that lost a request: it may be stopped, and by then
	// its node is known to be dead or is not.
	lostRest = 10 * time.Second
	// share of the time for an answer that a relay has, so that its word that there was none comes
	// in time.
	share = 0.9
	// usual is the time for an answer if who asks has no limit.
	usual = 30 * time.Second
)

// A Peer is another node's relay. It implements http.RoundTripper, with the errors that package
// fetch expects of an access point.
type Peer struct {
	Address   string
	Key       string
	transport http.Transport
	gone      context.Context
	leave     context.CancelFunc
	usual     time.Duration // less in tests

	mu   sync.Mutex
	rest time.Time // it is left alone until then
	last time.Duration
}

// NewPeer returns the relay at an address, which must have a key. Close it when its node is gone.
func NewPeer(id *Identity, address, key string) *Peer {
	p := &Peer{Address: address, Key: key, usual: usual}
	p.gone, p.leave = context.WithCancel(context.Background())
	dialer := tls.Dialer{NetDialer: &net.Dialer{}, Config: id.config(func(k string) bool { return k == key })}
	p.transport = http.Transport{
		MaxIdleConnsPerHost: turns, IdleConnTimeout: idle, DisableCompression: true, // see fetch.Unpack
		// The relay adds headers to those of a host.
		MaxResponseHeaderBytes: 2 * fetch.LongestHeader,
		DialTLSContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, reach)
			defer cancel()
			c, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			if err := greet(c); err != nil {
				_ = c.Close()
				return nil, err
			}
			return c, nil
		},
	}
	return p
}

// greet has the relay answer something. In TLS 1.3 the end that connects does not learn by the
// handshake whether the other one takes its key.
func greet(c net.Conn) error {
	hello, err := http.NewRequest(http.MethodHead, "https://relay/", nil)
	if err != nil {
		return err
	}
	_ = c.SetDeadline(time.Now().Add(reach))
	if err := hello.Write(c); err != nil {
		return err
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), hello)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	return c.SetDeadline(time.Time{})
}

// Close ends all requests under way.
func (p *Peer) Close() {
	p.leave()
	p.transport.CloseIdleConnections()
}

// Gone reports whether it was closed.
func (p *Peer) Gone() bool { return p.gone.Err() != nil }

// Ready reports whether the relay may be used, as far as is known.
func (p *Peer) Ready() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.Gone() && !time.Now().Before(p.rest)
}

// reached takes note of whether there was a connection.
func (p *Peer) reached(ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ok {
		p.last = 0
		return
	}
	if time.Now().Before(p.rest) { // of several attempts at a time one counts
		return
	}
	p.last = min(max(2*p.last, shortestRest), longestRest)
	p.rest = time.Now().Add(p.last)
}

// loses takes note of a request that it lost.
func (p *Peer) loses() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rest = time.Now().Add(lostRest)
}

// RoundTrip implements http.RoundTripper, for GET requests. The error is [fetch.ErrRefused] if the
// host was not asked, [fetch.ErrLost] if nobody knows, and [fetch.ErrAgain] if it closed the
// connection.
func (p *Peer) RoundTrip(r *http.Request) (*http.Response, error) {
	if !p.Ready() || r.Method != http.MethodGet {
		return nil, fmt.Errorf("%w: %s", fetch.ErrRefused, p.Address)
	}
	ctx, cancel := context.WithCancel(r.Context())
	stop := context.AfterFunc(p.gone, cancel)
	end := func() { stop(); cancel() }
	timeout := p.usual
	if deadline, ok := ctx.Deadline(); ok {
		timeout = time.Duration(share * float64(time.Until(deadline)))
	}
	// A POST is not sent again by net/http, unless nothing was sent at all.
	to := &http.Request{Method: http.MethodPost, URL: &url.URL{Scheme: "https", Host: p.Address, Path: "/"}, Header: passed(r.Header)}
	packs := fetch.AskGzip(to.Header)
	to.Header.Set(targetHeader, r.URL.String())
	to.Header.Set(timeoutHeader, timeout.String())
	began, connected := time.Now(), false
	to = to.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) {
		fetch.Reached(ctx, time.Since(began))
		connected = true
	}}))
	resp, err := p.transport.RoundTrip(to)
	if err != nil {
		abandoned := ctx.Err() != nil
		end()
		if !connected { // so nothing was sent
			if !abandoned {
				p.reached(false)
			}
			return nil, fmt.Errorf("%w: %s: %w", fetch.ErrRefused, p.Address, err)
		}
		if !errors.Is(r.Context().Err(), context.Canceled) { // or it was who asked that gave up
			p.loses()
		}
		return nil, fmt.Errorf("%w: %s: %w", fetch.ErrLost, p.Address, err)
	}
	p.reached(true)
	if why := resp.Header.Get(refusedHeader); why != "" {
		end()
		resp.Body.Close()
		return nil, fmt.Errorf("%w: %s: %s", fetch.ErrRefused, p.Address, why)
	}
	if why := resp.Header.Get(failedHeader); why != "" {
		end()
		resp.Body.Close()
		if resp.Header.Get(againHeader) != "" {
			return nil, fmt.Errorf("%w: %s", fetch.ErrAgain, p.Address)
		}
		return nil, p.failed(r.Context(), why)
	}
	if proto := resp.Header.Get(protoHeader); proto != "" { // or the relay is of an earlier version
		resp.Proto = proto
		resp.ProtoMajor, resp.ProtoMinor, _ = http.ParseHTTPVersion(proto)
		resp.Header.Del(protoHeader)
	}
	resp.Request, resp.TLS = r, nil
	resp.Body = &body{resp.Body, resp, p, end}
	if packs {
		fetch.Unpack(resp)
	}
	return resp, nil
}

// failed returns the error of a host that gave no answer, or not all of it. Once the peer is closed, or
// who asked gave up, that is not known: the relay is told so before reading from it stops, and may
// answer that its request was canceled.
func (p *Peer) failed(asked context.Context, why string) error {
	if p.Gone() || errors.Is(asked.Err(), context.Canceled) {
		return fmt.Errorf("%w: %s: %s", fetch.ErrLost, p.Address, why)
	}
	return fmt.Errorf("by %s: %s", p.Address, why)
}

// A body ends its request when it is closed, and tells a host that ends in the middle from a relay
// that does. One for which the time was too short is too long, for the host or for the way from the
// relay.
type body struct {
	io.ReadCloser
	resp *http.Response
	peer *Peer
	end  func()
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (n int, err error) {
	if n, err = b.ReadCloser.Read(p); err == nil {
		return n, nil
	}
	if why := b.resp.Trailer.Get(failedHeader); why != "" {
		return n, b.peer.failed(b.resp.Request.Context(), why)
	}
	ended := b.resp.Request.Context().Err() // by who asked
	switch {
	case errors.Is(err, io.EOF):
		return n, err
	case errors.Is(ended, context.DeadlineExceeded):
		return n, fmt.Errorf("by %s: %w", b.peer.Address, err)
	case ended == nil: // or the same one would be asked again at once
		b.peer.loses()
	}
	return n, fmt.Errorf("%w: %s: %w", fetch.ErrLost, b.peer.Address, err)
}

// Close implements io.Closer.
func (b *body) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
