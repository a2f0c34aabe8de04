// Package testnet is what tests need of a network: a small web and addresses that are free, all on
// this machine's loopback interface.
package testnet

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// A Web answers for every host: one page at each path, and no robots.txt.
type Web struct{ URL string }

// NewWeb returns a web that ends with its test.
func NewWeb(t *testing.T) Web {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, "a page")
	}))
	t.Cleanup(s.Close)
	return Web{s.URL}
}

// Transport returns one that finds every host in the web.
func (w Web) Transport() *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, w.URL[len("http://"):])
	}}
}

// FreeAddress returns an address that nobody listens at.
func FreeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}
