package fetch

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// ErrAgain reports a request that the host may have seen, and whose connection it closed before it
// answered. It may be sent again once the delay of the host is over.
var ErrAgain = errors.New("fetch: the host closed the connection without an answer")

// A once sends a request at most once. A http.Transport by itself sends a request again at once if the
// host closes a connection that was used before: two requests with no delay between them. It asks the
// guard of a request when there is a connection, as it may have taken long to make one.
type once struct{ *http.Transport }

// RoundTrip implements http.RoundTripper.
func (o once) RoundTrip(r *http.Request) (*http.Response, error) {
	var sent, looking atomic.Bool
	var stopped error
	var conn net.Conn
	trace := &httptrace.ClientTrace{
		WroteHeaders: func() { sent.Store(true) },
		DNSStart:     func(httptrace.DNSStartInfo) { looking.Store(true) },
		DNSDone:      func(httptrace.DNSDoneInfo) { looking.Store(false) },
		GotConn: func(got httptrace.GotConnInfo) { // in this goroutine
			conn = got.Conn
			if stopped == nil && sent.Load() {
				stopped = ErrAgain
			}
			if stopped == nil && !guarded(r.Context()) {
				stopped = ErrElsewhere
			}
			if stopped != nil {
				_ = got.Conn.Close() // so that nothing is sent
			}
		},
	}
	out := r.WithContext(httptrace.WithClientTrace(r.Context(), trace))
	out.Header = r.Header.Clone()
	packs := AskGzip(out.Header)
	resp, err := o.Transport.RoundTrip(out)
	if conn != nil && errors.Is(err, context.DeadlineExceeded) { // HTTP/2 would go on with it, though nobody may be there
		_ = conn.Close()
	}
	if err != nil && stopped != nil {
		return nil, stopped
	}
	if err != nil {
		return nil, blame(err, looking.Load())
	}
	if packs {
		Unpack(resp)
	}
	resp.Request = r
	return resp, nil
}
