package cluster

import (
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/crawler"
	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
)

// A node that was declared dead quotes nothing for the shards that it had.
func TestQuotesOfTheDead(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir()})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(s.Shutdown)
	require.True(t, s.ReadyForConnections(time.Minute))
	join := func(name string) *Node {
		e, err := engine.Open(t.Context(), engine.Config{Access: engine.Access{URL: s.ClientURL()}, Name: name, Lease: time.Second, Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		t.Cleanup(e.Close)
		return New(Config{Engine: e, Name: name})
	}
	one, two := join("one"), join("two")
	two.Exchange(t.Context(), []crawler.Quote{{Shard: 1, Pages: 2}})
	require.NoError(t, two.board.Put(t.Context(), "node.one", nil))
	<-one.cfg.Engine.Session().Lost()
	quotes := one.Exchange(t.Context(), []crawler.Quote{{Shard: 0, Pages: 1}, {Shard: 1, Pages: 1}})
	require.Equal(t, []crawler.Quote{{Shard: 1, Pages: 2}}, quotes)
}
