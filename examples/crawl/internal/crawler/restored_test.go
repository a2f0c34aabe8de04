package crawler

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/knapsack"
)

// A stopper ends a context at the first error that is logged.
type stopper struct {
	slog.Handler
	stop context.CancelFunc
}

func (s stopper) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelError }

func (s stopper) Handle(context.Context, slog.Record) error {
	s.stop()
	return nil
}

// A shard that is being restored when its node is to stop is free at once, and not only when the node is gone.
func TestStopsWhileItRestores(t *testing.T) {
	t.Parallel()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, NoSigs: true, NoLog: true, JetStream: true, StoreDir: t.TempDir()})
	require.NoError(t, err)
	s.Start()
	t.Cleanup(s.Shutdown)
	require.True(t, s.ReadyForConnections(time.Minute))
	node := func(name string, log slog.Handler) *engine.Engine {
		e, err := engine.Open(t.Context(), engine.Config{Access: engine.Access{URL: s.ClientURL()}, Name: name, Log: slog.New(log)})
		require.NoError(t, err)
		t.Cleanup(e.Close)
		return e
	}
	ctx, stop := context.WithCancel(t.Context())
	one, two := node("one", stopper{slog.DiscardHandler, stop}), node("two", slog.DiscardHandler)
	log, err := one.Own(t.Context(), 0)
	require.NoError(t, err)
	require.NoError(t, log.Append(t.Context(), nil))
	require.NoError(t, log.Snapshot(t.Context(), log.Mark(), []byte("no state, which is told in the middle")))
	_, _, err = Restored(ctx, one, 0, knapsack.RateFilterConfig{})
	require.Error(t, err)
	require.Error(t, ctx.Err())
	_, err = two.Own(t.Context(), 0)
	require.NoError(t, err)
}
