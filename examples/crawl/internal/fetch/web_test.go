package fetch

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/testnet"
)

// page returns the URL of a host's page in a testnet.Web.
func page(host string) string { return "http://" + host + "/page" }

func point(name string, w testnet.Web) Point { return Point{Name: name, Base: w.Transport()} }

func newTestFetcher(t *testing.T, points ...Point) *Fetcher {
	t.Helper()
	f, err := New(Config{UserAgent: "test (+http://test.test)", Clock: clock.NewReal(), Points: points, Seed: 1})
	require.NoError(t, err)
	return f
}
