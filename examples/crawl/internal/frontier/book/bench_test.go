package book

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/knapsack"
)

// BenchmarkStep is the longest time for which others wait for a call: 1,024 URLs are given at a time,
// of a million in one queue and in 100,000.
func BenchmarkStep(b *testing.B) {
	for _, queues := range []int{1, 100_000} {
		b.Run(fmt.Sprint(queues), func(b *testing.B) {
			s := filled(b, 1_000_000, queues)
			now := s.Latest + 10
			a := &Ask{Lease: 1e9, Most: -1}
			for b.Loop() {
				gifts, _, err := a.Step(s, now, 1024)
				require.NoError(b, err)
				require.Len(b, gifts, 1024)
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

// BenchmarkGive and BenchmarkAnswer are the time of the state for a URL, of a million in one queue
// and in 100,000.
func BenchmarkGive(b *testing.B) {
	for _, queues := range []int{1, 100_000} {
		b.Run(fmt.Sprint(queues), func(b *testing.B) {
			s := filled(b, 1_000_000, queues)
			now := s.Latest + 10
			for b.Loop() {
				now++
				a := &Ask{Lease: 1, PerQueue: 10, Queues: 10, Most: 100}
				gifts, _, err := a.Step(s, now, 100)
				require.NoError(b, err)
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
