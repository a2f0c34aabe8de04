package engine

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/stretchr/testify/require"
)

// A server within the process that is slow to answer is waited for, as its machine may be busy, and one that
// does not answer is begun anew. What it refuses ten times it refuses.
func TestSlowServer(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		e := &Engine{cfg: Config{Dir: dir, Log: slog.New(slog.DiscardHandler)}, server: new(server.Server)}
		began := time.Now()
		mutely := func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}
		require.NoError(t, e.patiently(t.Context(), func(ctx context.Context) error {
			if time.Since(began) < mute/2 {
				return mutely(ctx)
			}
			return nil
		}))
		require.ErrorIs(t, e.patiently(t.Context(), mutely), ErrStorage)

		refused, asked := errors.New("refused"), 0
		err := e.patiently(t.Context(), func(context.Context) error {
			asked++
			return refused
		})
		require.ErrorIs(t, err, refused)
		require.NotErrorIs(t, err, ErrStorage)
		require.Equal(t, 10, asked)
	})
}
