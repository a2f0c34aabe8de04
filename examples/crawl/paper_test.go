package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
	"github.com/recrawl/recrawl/knapsack"
)

// What was measured elsewhere; RESULTS.md has the commands.
const (
	paperMemory  = 713.   // bytes of a page in a node, all in
	paperRecords = 5000.  // that three servers took in a second, for 16 shards at once
	paperReplay  = 25_000 // records a second
	paperQuote   = 180.   // bytes of what a shard tells the others
	paperBeat    = 200.   // bytes of a renewal
)

// A crawl of 10⁹ pages on paper: what nodes and servers would have to do, by what was measured in
// small. Bytes of a poll in the log and of a page in a snapshot are measured here.
//
//	go test ./examples/crawl -run TestPaper -v
func TestPaper(t *testing.T) {
	t.Parallel()
	const pages, shardPages, replicas = 1e9, 1e6, 3
	pollBytes, pageBytes := measured(t)
	var b strings.Builder
	out := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(out, "polls a page and day\tnodes\tmemory a node, GB\tpolls/s a node\trecords/s, all\tof what 3 servers take\tlog, MB/s and server\tsnapshots, MB/s and server\tboard, messages/s a node\tboard, kB/s a node\ttakeover of a shard, s\t\n")
	for _, perDay := range []float64{0.1, 1} {
		for _, nodes := range []float64{10, 30, 100, 300, 1000} {
			shards := pages / shardPages
			polls := pages * perDay / 86400
			a := polls / shards // of a shard, a second
			records := shards * a / (1 + a*shard.Linger.Seconds())
			logged := polls * pollBytes
			beats := nodes * 4 / engine.DefaultLease.Seconds() // all nodes hear all
			quotes := shards / 60
			replayed := shard.SnapshotShare * shardPages * pageBytes / pollBytes / max(a*shard.Linger.Seconds(), 1) / 2
			takeover := engine.DefaultLease.Seconds() + 5.4 + replayed/paperReplay
			fmt.Fprintf(out, "%.1f\t%.0f\t%.1f\t%.0f\t%.0f\t%.1f\t%.2f\t%.2f\t%.0f\t%.0f\t%.0f\t\n", perDay, nodes,
				pages/nodes*paperMemory/1e9, polls/nodes, records, records/paperRecords,
				logged/1e6, logged/shard.SnapshotShare/1e6,
				beats+quotes, (beats*paperBeat+quotes*paperQuote)/1e3, takeover)
		}
	}
	require.NoError(t, out.Flush())
	t.Logf("10⁹ pages in %.0f shards, each with %d replicas; %.0f bytes a poll in the log, %.0f a page in a snapshot\n%s",
		pages/shardPages, replicas, pollBytes, pageBytes, b.String())
	require.InDelta(t, 150, pollBytes, 100)
	require.InDelta(t, 600, pageBytes, 300)
}

// measured returns the bytes of a poll in the log, and of a page in a snapshot, with a copy of
// which as much is remembered as of most.
func measured(t *testing.T) (poll, page float64) {
	t.Helper()
	const n = 4096
	f, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	require.NoError(t, err)
	s := shard.NewState(f)
	log := &counted{}
	now := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	loop := shard.NewLoop(shard.Config{State: s, Log: log})
	var added, polled []shard.Event
	for i := range n {
		url := fmt.Sprintf("https://host%d.example.org/a/folder/page-%d.html", i%100, i)
		added = append(added, shard.Event{Kind: shard.Add, URL: url, At: now},
			shard.Event{Kind: shard.Polled, URL: url, At: now, Result: shard.First, Copy: make([]byte, 230)})
		for k := range 5 { // four of five find no change, and remember nothing new
			e := shard.Event{Kind: shard.Polled, URL: url, At: now.Add(time.Duration(1+k) * time.Hour), Status: 200, Bytes: 1000, Took: time.Second}
			if k == 0 {
				e.Result, e.Copy = shard.Changed, make([]byte, 230)
			}
			polled = append(polled, e)
		}
	}
	require.NoError(t, loop.Learn(t.Context(), added))
	log.bytes = 0
	require.NoError(t, loop.Learn(t.Context(), polled))
	state, err := s.MarshalBinary()
	require.NoError(t, err)
	return float64(log.bytes) / float64(len(polled)), float64(len(state)) / n
}

// counted is a log that counts.
type counted struct {
	shard.Log
	bytes int
}

func (c *counted) Append(_ context.Context, record []byte) error {
	c.bytes += len(record)
	return nil
}
