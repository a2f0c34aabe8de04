package frontier_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	pb "github.com/recrawl/recrawl/examples/crawl/internal/frontier/urlfrontierpb"
)

// Clients that ask at the same time get different URLs, and each one is given, while others put,
// list and delete.
func TestConcurrentClients(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	const putters, getters, each = 3, 4, 800
	var mu sync.Mutex
	given := map[string]int{}
	var wait, putting sync.WaitGroup
	for n := range putters {
		putting.Add(1)
		wait.Go(func() {
			defer putting.Done()
			var items []*pb.URLItem
			for i := range each {
				items = append(items, discovered(info("", fmt.Sprint("q", i%37), fmt.Sprint("u", n, "-", i))),
					discovered(info("", fmt.Sprint("q", i%37), fmt.Sprint("shared", i))))
			}
			for ; len(items) > 0; items = items[100:] {
				p.ok(t, items[:100]...)
			}
		})
	}
	done := make(chan struct{})
	go func() {
		putting.Wait()
		close(done)
	}()
	for n := range getters {
		wait.Go(func() {
			params := &pb.GetParams{MaxQueues: 5, MaxUrlsPerQueue: uint32(n), DelayRequestable: 1e6}
			for last := false; ; {
				urls := p.get(t, params)
				mu.Lock()
				for _, u := range urls {
					given[u]++
				}
				mu.Unlock()
				if len(urls) == 0 && last {
					return
				}
				select {
				case <-done:
					last = true
				default:
				}
			}
		})
	}
	wait.Go(func() {
		for i := range 50 {
			p.stats(t, "", "")
			p.list(t, &pb.ListUrlParams{Size: 500})
			p.ok(t, discovered(info("other", fmt.Sprint(i%3), "u"+fmt.Sprint(i))))
			_, err := p.DeleteCrawl(t.Context(), &pb.DeleteCrawlMessage{Value: "other"})
			require.NoError(t, err)
			_, err = p.ListQueues(t.Context(), &pb.Pagination{})
			require.NoError(t, err)
		}
	})
	wait.Wait()
	mine := 0
	for u, n := range given {
		require.Equal(t, 1, n, u)
		if u[0] != 'u' || len(u) > 3 {
			mine++
		}
	}
	require.Equal(t, putters*each+each, mine)
}

// A queue within its delay is given to one client.
func TestConcurrentDelay(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	for i := range 40 {
		p.ok(t, discovered(info("", "q", fmt.Sprint(i))))
	}
	_, err := p.SetDelay(t.Context(), &pb.QueueDelayParams{Key: "q", DelayRequestable: 300})
	require.NoError(t, err)
	for range 3 {
		var given atomic.Int64
		var wait sync.WaitGroup
		for n := range 8 {
			wait.Go(func() {
				params := &pb.GetParams{MaxUrlsPerQueue: 1}
				if n%2 == 0 {
					params.Key = "q"
				}
				given.Add(int64(len(p.get(t, params))))
			})
		}
		wait.Wait()
		require.EqualValues(t, 1, given.Load())
		p.clock.pass(300 * time.Second)
	}
}

// One call may ask for everything there is, in which others have their turn.
func TestAskForAll(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	const n = 5000
	var items []*pb.URLItem
	for i := range n {
		key := "large"
		if i%2 == 0 {
			key = fmt.Sprint("q", i%500)
		}
		items = append(items, discovered(info("", key, fmt.Sprint("u", i))))
	}
	p.ok(t, items...)
	var all [2][]string
	var wait sync.WaitGroup
	for i := range all {
		wait.Go(func() { all[i] = p.get(t, &pb.GetParams{}) })
	}
	wait.Wait()
	seen := map[string]bool{}
	for _, u := range append(all[0], all[1]...) {
		require.False(t, seen[u], u)
		seen[u] = true
	}
	require.Len(t, seen, n)
	require.EqualValues(t, n, p.stats(t, "", "").InProcess)
	p.restart(t)
	require.EqualValues(t, n, p.stats(t, "", "").InProcess)
	require.Empty(t, p.get(t, &pb.GetParams{}))
}
