package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
)

// A server is never asked for more bytes than it keeps for a client, which are 64 MiB for all shards,
// nor for fewer than a record has. The largest records come all, in several requests.
func TestLargestRecords(t *testing.T) {
	t.Parallel()
	const n = 140 // 70 MiB
	for name, access := range map[string]engine.Access{"in the process": {}, "elsewhere": {URL: serveMessages(t, 0)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := engine.Config{Dir: t.TempDir(), Access: access}
			var conn *nats.Conn
			var asked *nats.Subscription
			if access.URL != "" {
				var err error
				conn, err = nats.Connect(access.URL)
				require.NoError(t, err)
				defer conn.Close()
				asked, err = conn.SubscribeSync("$JS.API.CONSUMER.MSG.NEXT.CRAWL.>")
				require.NoError(t, err)
				require.NoError(t, conn.Flush())
			}
			e := open(t, cfg)
			s, err := e.Own(t.Context(), 0)
			require.NoError(t, err)
			for i := range n {
				require.NoError(t, s.Append(t.Context(), bytes.Repeat([]byte{byte(i)}, engine.MaxRecord)))
			}
			looked, err := e.Look(t.Context(), 0)
			require.NoError(t, err)
			got := 0
			require.NoError(t, looked.Restore(t.Context(), nil, func(r []byte) error {
				if len(r) != engine.MaxRecord || r[0] != byte(got) {
					return fmt.Errorf("record %d has %d bytes and begins with %d", got, len(r), r[0])
				}
				got++
				return nil
			}))
			require.Equal(t, n, got)
			if conn == nil {
				return
			}
			require.NoError(t, conn.Flush())
			requests, _, err := asked.Pending()
			require.NoError(t, err)
			require.Greater(t, requests, n/8)
			for range requests {
				m, err := asked.NextMsg(time.Minute)
				require.NoError(t, err)
				var request struct {
					MaxBytes int `json:"max_bytes"`
				}
				require.NoError(t, json.Unmarshal(m.Data, &request))
				require.Greater(t, request.MaxBytes, engine.MaxRecord)
				require.LessOrEqual(t, request.MaxBytes, 8<<20)
			}
		})
	}
}

// A slowLog counts what a client says that it dropped.
type slowLog struct {
	slog.Handler
	dropped *atomic.Int64
}

func (l slowLog) Enabled(context.Context, slog.Level) bool { return true }

func (l slowLog) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if err, ok := a.Value.Any().(error); ok && errors.Is(err, nats.ErrSlowConsumer) {
			l.dropped.Add(1)
		}
		return true
	})
	return nil
}

// What comes while a record is applied, which may take its time, is not dropped: if the last record of the log
// was, a restart would wait for it for minutes.
func TestSlowReader(t *testing.T) {
	t.Parallel()
	const n = 1200 // more than what is asked for at first, and again after half of it, and again
	for name, access := range map[string]engine.Access{"in the process": {}, "elsewhere": {URL: serveMessages(t, 0)}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var dropped atomic.Int64
			e := open(t, engine.Config{Dir: t.TempDir(), Access: access, Log: slog.New(slowLog{slog.DiscardHandler, &dropped})})
			s, err := e.Own(t.Context(), 0)
			require.NoError(t, err)
			for range n {
				require.NoError(t, s.Append(t.Context(), []byte("record")))
			}
			looked, err := e.Look(t.Context(), 0)
			require.NoError(t, err)
			got := 0
			require.NoError(t, looked.Restore(t.Context(), nil, func([]byte) error {
				if got++; got%250 < 10 {
					time.Sleep(20 * time.Millisecond)
				}
				return nil
			}))
			require.Equal(t, n, got)
			require.Zero(t, dropped.Load())
		})
	}
}
