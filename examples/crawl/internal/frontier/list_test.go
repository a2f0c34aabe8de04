package frontier

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/frontier/book"
	pb "github.com/recrawl/recrawl/examples/crawl/internal/frontier/urlfrontierpb"
	"github.com/recrawl/recrawl/knapsack"
)

// A listStream counts what is sent, and calls a function before the first one.
type listStream struct {
	grpc.ServerStreamingServer[pb.URLItem]
	first func()
	sent  int
}

func (l *listStream) Send(*pb.URLItem) error {
	if l.sent++; l.sent == 1 {
		l.first()
	}
	return nil
}

// What is deleted while URLs are listed is not listed, but for the stride that was read before.
func TestListOfDeleted(t *testing.T) {
	t.Parallel()
	for name, delete := range map[string][]book.Event{
		"queues": {{Kind: book.DeleteQueue, Crawl: "c", Key: "0"}, {Kind: book.DeleteQueue, Crawl: "c", Key: "1"}},
		"crawl":  {{Kind: book.DeleteCrawl, Crawl: "c"}},
	} {
		s := New(Config{State: book.New(knapsack.Detections), Clock: clock.NewReal()})
		apply := func(events ...book.Event) {
			require.NoError(t, s.view(func(state *book.State, now float64) {
				for _, e := range events {
					e.At = now
					_, err := state.Apply(&e)
					require.NoError(t, err)
				}
			}))
		}
		for i := range 2 * (stride + 10) {
			apply(book.Event{Kind: book.Discovered, Crawl: "c", Key: fmt.Sprint(i % 2), URL: fmt.Sprint(i)})
		}
		stream := &listStream{first: func() { apply(delete...) }}
		require.NoError(t, s.ListURLs(&pb.ListUrlParams{CrawlID: "c", Size: 1 << 20}, stream))
		require.Equal(t, stride, stream.sent, name)
	}
}

// A countClock counts how often it is asked, which is once each time that the state is locked.
type countClock struct {
	clock.Clock
	asked int
}

func (c *countClock) Now() time.Time {
	c.asked++
	return c.Clock.Now()
}

// Others have their turn while URLs and queues are counted.
func TestCountsInStrides(t *testing.T) {
	t.Parallel()
	const n = 3*stride + 5
	c := &countClock{Clock: clock.NewReal()}
	s := New(Config{State: book.New(knapsack.Detections), Clock: c})
	require.NoError(t, s.view(func(state *book.State, now float64) {
		for i := range n {
			for _, e := range []book.Event{
				{Kind: book.Discovered, At: now, Crawl: "one queue", Key: "q", URL: fmt.Sprint("URL ", i)},
				{Kind: book.Discovered, At: now, Crawl: "many", Key: fmt.Sprint(i), URL: "URL"},
			} {
				_, err := state.Apply(&e)
				require.NoError(t, err)
			}
		}
	}))
	count := func(crawl, filter string) {
		t.Helper()
		c.asked = 0
		got, err := s.CountURLs(context.Background(), &pb.CountUrlParams{CrawlID: crawl, Filter: &filter})
		require.NoError(t, err)
		require.EqualValues(t, n, got.Value)
	}
	count("one queue", "")
	for _, crawl := range []string{"one queue", "many"} {
		count(crawl, "URL")
		require.Equal(t, 1+4, c.asked, crawl)
	}
	c.asked = 0
	stats, err := s.GetStats(context.Background(), &pb.QueueWithinCrawlParams{CrawlID: "many"})
	require.NoError(t, err)
	require.EqualValues(t, n, stats.NumberOfQueues)
	require.EqualValues(t, n, stats.Size)
	require.Equal(t, 1+4, c.asked)
}
