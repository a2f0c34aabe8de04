package frontier

import (
	"fmt"
	"testing"

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
