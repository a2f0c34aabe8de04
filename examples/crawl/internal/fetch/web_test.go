package fetch

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/testnet"
)

// page returns the URL of a host's page in a testnet.Web.
func page(host string) string { return "http://" + host + "/page" }

func point(name string, w testnet.Web) Point { return Point{Name: name, Base: w.Transport()} }

// manual is a clock that stands still but for waits, which are over at once.
type manual struct {
	mu    sync.Mutex
	now   time.Time
	slept time.Duration
}

func newManual() *manual { return &manual{now: time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)} }

func (m *manual) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now
}

func (m *manual) Sleep(_ context.Context, d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now, m.slept = m.now.Add(d), m.slept+d
}

func (m *manual) Real(d time.Duration) time.Duration { return d }

// pass lets time go by that nobody waits for.
func (m *manual) pass(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now, m.slept = m.now.Add(d), 0
}

func newTestFetcher(t *testing.T, points ...Point) *Fetcher {
	t.Helper()
	f, err := New(Config{UserAgent: "test (+http://test.test)", Clock: clock.NewReal(), Points: points, Seed: 1})
	require.NoError(t, err)
	return f
}
