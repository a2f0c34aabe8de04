package fetch

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
)

// A testWeb has a page on any host of this machine's loopback interface.
type testWeb struct{ server *httptest.Server }

func newTestWeb(t *testing.T) *testWeb {
	t.Helper()
	w := &testWeb{httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, "a page")
	}))}
	t.Cleanup(w.server.Close)
	return w
}

func (w *testWeb) page(host string) string { return "http://" + host + "/page" }

func (w *testWeb) client() http.RoundTripper {
	return &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, w.server.Listener.Addr().String())
	}}
}

func (w *testWeb) point(name string) Point { return Point{Name: name, Base: w.client()} }

func newTestFetcher(t *testing.T, w *testWeb, points ...Point) *Fetcher {
	t.Helper()
	f, err := New(Config{UserAgent: "test (+http://test.test)", Clock: clock.NewReal(), Points: points, Seed: 1})
	require.NoError(t, err)
	return f
}
