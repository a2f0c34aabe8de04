package frontier_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	pb "github.com/recrawl/recrawl/examples/crawl/internal/frontier/urlfrontierpb"
)

// While a snapshot is made calls of all kinds are answered, and what they change is in the log after
// it: the state from both is the one that the server had, to the byte.
func TestSnapshotMakesNobodyWait(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	p.stored, p.replay = make(chan int, 10), make(chan func(), 10)
	p.restart(t)
	meta := strings.Repeat("m", 1000)
	n := 0
	put := func() {
		var items []*pb.URLItem
		for range 100 {
			items = append(items, known(info("", fmt.Sprint("q", n%50), fmt.Sprint("u", n), "signature", meta), p.clock.unix(0)))
			n++
		}
		p.ok(t, items...)
	}
	for round := range 3 {
		served := make(chan struct{})
		p.replay <- func() {
			<-served
			p.clock.pass(time.Second)
		}
		for range 12 { // more than a mebibyte
			put()
		}
		// The snapshot waits, and would for ever.
		p.clock.pass(time.Hour)
		urls := p.infos(t, &pb.GetParams{MaxUrlsPerQueue: 2, DelayRequestable: 1000})
		require.Len(t, urls, 100)
		for i, u := range urls {
			u.Metadata["signature"].Values[0] = meta + fmt.Sprint(i%2)
			if i%5 == 0 {
				u.Metadata["fetch.statusCode"] = &pb.StringList{Values: []string{"500"}}
			}
			p.ok(t, known(u, p.clock.unix(time.Minute)))
		}
		put()
		require.EqualValues(t, n, p.stats(t, "", "").Size)
		require.Len(t, p.stored, 0)
		close(served)
		require.Positive(t, <-p.stored)
		urls = p.infos(t, &pb.GetParams{MaxUrlsPerQueue: 1, DelayRequestable: 1000})
		require.Len(t, urls, 50)
		p.ok(t, known(urls[0], p.clock.unix(time.Minute)))

		// The end of the log is all that a start has beside the snapshot.
		live := p.cfg.State
		p.breakLog()
		_ = p.halt()
		for len(p.stored) > 0 {
			<-p.stored
		}
		want, err := live.MarshalBinary()
		require.NoError(t, err)
		p.start(t)
		got, err := p.cfg.State.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, want, got, "round %d", round)
	}
}
