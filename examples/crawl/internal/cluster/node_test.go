package cluster

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/crawler"
	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
)

// joined returns what makes nodes of a new cluster.
func joined(t *testing.T, shards int) func(name string) *Node {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir()})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(s.Shutdown)
	require.True(t, s.ReadyForConnections(time.Minute))
	return func(name string) *Node {
		e, err := engine.Open(t.Context(), engine.Config{
			Access: engine.Access{URL: s.ClientURL()}, Name: name, Shards: shards, Log: slog.New(slog.DiscardHandler),
		})
		require.NoError(t, err)
		t.Cleanup(e.Close)
		return New(Config{Engine: e, Name: name})
	}
}

// A node that was declared dead quotes nothing for the shards that it had.
func TestQuotesOfTheDead(t *testing.T) {
	t.Parallel()
	join := joined(t, 16)
	one, two := join("one"), join("two")
	two.Exchange(t.Context(), []crawler.Quote{{Shard: 1, Pages: 2}})
	require.NoError(t, two.board.Put(t.Context(), "node.one", nil))
	<-one.cfg.Engine.Session().Lost()
	quotes := one.Exchange(t.Context(), []crawler.Quote{{Shard: 0, Pages: 1}, {Shard: 1, Pages: 1}})
	require.Equal(t, []crawler.Quote{{Shard: 1, Pages: 2}}, quotes)
}

// The pages of all shards are known once each was quoted, by whichever node, or where there is one shard only.
func TestPages(t *testing.T) {
	t.Parallel()
	join := joined(t, 3)
	one, two := join("one"), join("two")
	one.Exchange(t.Context(), []crawler.Quote{{Shard: 0, Pages: 1}, {Shard: 2, Pages: 4}})
	_, known := one.Pages()
	require.False(t, known)
	two.Exchange(t.Context(), []crawler.Quote{{Shard: 1, Pages: 2}, {Shard: 2, Pages: 5}})
	for _, n := range []*Node{one, two} {
		require.Eventually(t, func() bool {
			pages, known := n.Pages()
			return known && pages == 1+2+5
		}, time.Minute, time.Millisecond)
	}
	require.NoError(t, two.board.Put(t.Context(), "price.7", []byte(`{"shard":1,"pages":100}`)))
	two.Exchange(t.Context(), nil)
	pages, _ := two.Pages()
	require.Equal(t, 8, pages, "a shard counts once")
	_, known = joined(t, 1)("one").Pages()
	require.True(t, known)
}

// The shards that a node opens have no more than the budget in all, also where it was another one when they were
// quoted.
func TestRate(t *testing.T) {
	t.Parallel()
	n := joined(t, 4)("one")
	n.cfg.Budget = 10
	rates := func() (sum float64) {
		for i := range n.shards {
			sum += n.rate(i)
		}
		return sum
	}
	require.InDelta(t, 10, rates(), 1e-9)
	require.NoError(t, n.board.Put(t.Context(), "price.0", []byte(`{"shard":0,"pages":1,"rate":300}`)))
	require.NoError(t, n.board.Put(t.Context(), "price.1", []byte(`{"shard":1,"pages":3,"rate":200}`)))
	require.Eventually(t, func() bool { return len(n.quotes()) == 2 }, time.Minute, time.Millisecond)
	require.InDelta(t, 10, rates(), 1e-9)
	require.InDelta(t, 3*n.rate(0), n.rate(1), 1e-9)
}

// A shard that is being handed over when a node is to stop is free at once, and not only when the node is gone.
func TestHandsOverAtTheEnd(t *testing.T) {
	t.Parallel()
	join := joined(t, 1)
	one, two := join("one"), join("two")
	shard, err := one.cfg.Engine.Own(t.Context(), 0)
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	one.cfg.Has = func(int) bool { return true }
	one.cfg.Close = func(ctx context.Context, _ int) {
		stop()
		shard.Release(ctx)
	}
	require.NoError(t, one.board.Put(t.Context(), "plan", []byte(`{"homes":["two"]}`)))
	require.Eventually(t, func() bool {
		p, _ := one.current()
		return len(p.Homes) == 1 && len(one.members()) == 2
	}, time.Minute, time.Millisecond)
	one.settle(ctx, one.members())
	one.wait.Wait()
	_, err = two.cfg.Engine.Own(t.Context(), 0)
	require.NoError(t, err)
}
