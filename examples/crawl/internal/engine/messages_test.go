package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
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
