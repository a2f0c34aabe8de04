// Package testnet is what tests need of a network: a small web and addresses that are free, all on
// this machine's loopback interface.
package testnet

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
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

var (
	mu    sync.Mutex
	given = map[int]bool{}
)

// FreeAddress returns an address that nobody listens at, another one each time. Systems do not give
// its port to connections (Linux begins at 32768, others at 49152), so it stays free until a server
// listens there, and while the server is killed and started again.
func FreeAddress(t *testing.T) string {
	t.Helper()
	mu.Lock()
	defer mu.Unlock()
	const lowest, end, attempts = 10_000, 32_768, 1000
	for range attempts {
		port := lowest + rand.IntN(end-lowest)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		require.NoError(t, l.Close())
		if !given[port] {
			given[port] = true
			return l.Addr().String()
		}
	}
	t.Fatalf("no free port from %d to %d", lowest, end-1)
	return ""
}
