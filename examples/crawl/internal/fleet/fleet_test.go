package fleet

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
)

// Each page is fetched once, and each host by one client at a time.
func TestPlan(t *testing.T) {
	t.Parallel()
	var sites []Site
	for h := range 20 {
		s := Site{Host: fmt.Sprint("host", h)}
		for p := range h + 1 {
			s.URLs = append(s.URLs, fmt.Sprint(s.Host, "/", p))
		}
		sites = append(sites, s)
	}
	plan, err := NewPlan(sites, 6)
	require.NoError(t, err)
	require.Positive(t, plan.Makespan)
	var mu sync.Mutex
	seen, busy := map[string]int{}, map[string]bool{}
	require.NoError(t, plan.Run(t.Context(), func(_ context.Context, url string) error {
		host := url[:len("host00")]
		mu.Lock()
		seen[url]++
		if busy[host] && host[len(host)-1] != '/' {
			t.Errorf("%s beside another page of its host", url)
		}
		busy[host] = true
		mu.Unlock()
		time.Sleep(100 * time.Microsecond)
		mu.Lock()
		defer mu.Unlock()
		busy[host] = false
		return nil
	}))
	require.Len(t, seen, 210)
	for url, n := range seen {
		require.Equal(t, 1, n, url)
	}
	none, err := NewPlan(nil, 3)
	require.NoError(t, err)
	require.NoError(t, none.Run(t.Context(), nil))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	again, err := NewPlan(sites, 6)
	require.NoError(t, err)
	require.ErrorIs(t, again.Run(ctx, nil), context.Canceled)
}

// Hosts stay in their group as long as loads do; when a group has too much, hosts leave it.
func TestRebalance(t *testing.T) {
	t.Parallel()
	f, err := New(3, 4, nil)
	require.NoError(t, err)
	for h := range 12 {
		f.Submit(shard.Job{Host: fmt.Sprint(h)})
	}
	loads, _ := f.Loads()
	require.Equal(t, 12, loads[0].Hosts+loads[1].Hosts+loads[2].Hosts)
	for range 20 { // each keeps a quarter of a worker busy: three in all, where a group is to have two
		for _, p := range f.hosts {
			p.busy = period / 4
		}
		f.rebalance(period)
	}
	loads, moves := f.Loads()
	for _, l := range loads {
		require.LessOrEqual(t, l.Busy, 2.01)
	}
	for range 5 {
		for _, p := range f.hosts {
			p.busy = period / 4
		}
		f.rebalance(period)
	}
	_, after := f.Loads()
	require.Equal(t, moves, after)
}
