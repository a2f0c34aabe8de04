//go:build unix

package main

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
)

// Whoever reads a log or the board while the server that leads it is killed reads on, without that
// server, and misses nothing. With several readers it is likely that one of them is served by the
// server that is killed, and that one is given to it that nobody knows yet to be dead.
func TestReadersOutliveServers(t *testing.T) {
	if testing.Short() {
		t.Skip("half a minute of waiting for elections")
	}
	t.Parallel()
	const readers, records = 6, 1500
	c := newServers(t, 3, "")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	t.Cleanup(cancel)
	var nodes []*engine.Engine
	for i := range readers {
		e, err := engine.Open(ctx, engine.Config{
			Access: engine.Access{URL: c.url()}, Replicas: 3, Name: fmt.Sprint("n", i), Log: slog.New(slog.DiscardHandler),
		})
		require.NoError(t, err)
		t.Cleanup(e.Close)
		nodes = append(nodes, e)
	}
	writer, err := nodes[0].Own(ctx, 0)
	require.NoError(t, err)
	for i := range records {
		require.NoError(t, writer.Append(ctx, fmt.Append(nil, i)))
	}

	victim := c.leader(t, "CRAWL")
	var kill sync.Once
	var reading sync.WaitGroup
	began := time.Now()
	for _, e := range nodes {
		reading.Go(func() {
			s, err := e.Look(ctx, 0)
			if err != nil {
				t.Error(err)
				return
			}
			got := 0
			err = s.Restore(ctx, nil, func(record []byte) error {
				if string(record) != fmt.Sprint(got) {
					return fmt.Errorf("record %q in place %d", record, got)
				}
				got++
				if time.Sleep(time.Millisecond); got == records/4 {
					kill.Do(func() { c.kill(victim) })
				}
				return nil
			})
			if err != nil || got != records {
				t.Errorf("%d records, %v", got, err)
			}
		})
	}
	reading.Wait()
	t.Logf("%d readers of a log: %.1f s", readers, time.Since(began).Seconds())
	c.start(t, victim)

	victim = c.leader(t, "CRAWL_BOARD")
	c.kill(victim)
	began = time.Now()
	require.NoError(t, nodes[0].Board().Put(ctx, "news", []byte("x")))
	for i, e := range nodes {
		require.Eventually(t, func() bool {
			notes, _ := e.Board().View("news")
			return string(notes[""].Value) == "x"
		}, time.Minute, 10*time.Millisecond, "node %d", i)
	}
	t.Logf("%d readers of the board: %.1f s", readers, time.Since(began).Seconds())
}
