package book

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/knapsack"
)

// BenchmarkMillion is the longest time for which others wait for a call, which gives 1,024 URLs at a time, and the
// time of the state for a hundred URLs, of a million in one queue and in 100,000.
func BenchmarkMillion(b *testing.B) {
	for _, queues := range []int{1, 100_000} {
		s := filled(b, 1_000_000, queues)
		now := s.Latest + 10
		b.Run(fmt.Sprint("step/", queues), func(b *testing.B) {
			a := &Ask{Lease: 1, Most: -1}
			for b.Loop() {
				gifts, _, err := a.Step(s, now, 1024)
				require.NoError(b, err)
				require.Len(b, gifts, 1024)
			}
			a.End(now)
		})
		now += 10
		b.Run(fmt.Sprint("give/", queues), func(b *testing.B) {
			for b.Loop() {
				now++
				a := &Ask{Lease: 1, PerQueue: 10, Queues: 10, Most: 100}
				gifts, _, err := a.Step(s, now, 100)
				require.NoError(b, err)
				require.Len(b, gifts, min(100, 10*queues))
				a.End(now)
				for i, g := range gifts {
					e := Event{Kind: Known, At: now, Crawl: g.Crawl, Key: g.Key, URL: g.URL, Meta: g.Meta, Date: uint64(now), Verdict: Unchanged - Verdict(i%2) + 1, Mark: 2}
					_, err := s.Apply(&e)
					require.NoError(b, err)
				}
			}
		})
	}
}

// BenchmarkSave is the time in which a state is written down.
func BenchmarkSave(b *testing.B) {
	const n = 100_000
	s := filled(b, n, 10_000)
	b.ReportAllocs()
	for b.Loop() {
		_, err := s.MarshalBinary()
		require.NoError(b, err)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/URL")
}

// filled returns a state of URLs that are all learnt of.
func filled(b *testing.B, n, queues int) *State {
	s := New(knapsack.Detections)
	now := 1e6
	put := func(e Event) {
		now += 1e-3
		e.At, e.Crawl = now, "c"
		_, err := s.Apply(&e)
		require.NoError(b, err)
	}
	for i := range n {
		put(Event{
			Kind: Known, Key: fmt.Sprintf("host%d.test", i%queues), URL: fmt.Sprintf("http://host%d.test/a/path/%d", i%queues, i),
			Meta: strings.Repeat("m", 60), Date: uint64(now), Verdict: First, Mark: 2,
		})
	}
	return s
}
