package frontier_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/recrawl/recrawl/examples/crawl/internal/frontier"
	pb "github.com/recrawl/recrawl/examples/crawl/internal/frontier/urlfrontierpb"
)

func code(err error) codes.Code { return status.Code(err) }

// Every call there is, and what it answers.
func TestCalls(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	ctx := t.Context()

	nodes, err := p.ListNodes(ctx, &pb.Empty{})
	require.NoError(t, err)
	require.Equal(t, []string{"here"}, nodes.Values)
	crawls, err := p.ListCrawls(ctx, &pb.Local{})
	require.NoError(t, err)
	require.Empty(t, crawls.Values)

	p.ok(t, discovered(info("", "", "http://A.test:8080/1", "depth", "1")), discovered(info("", "", "http://a.test/2")),
		known(info("", "", "http://b.test/"), 0), discovered(info("news", "", "http://a.test/1")))
	crawls, err = p.ListCrawls(ctx, &pb.Local{})
	require.NoError(t, err)
	require.Equal(t, []string{"DEFAULT", "news"}, crawls.Values)

	queues, err := p.ListQueues(ctx, &pb.Pagination{})
	require.NoError(t, err)
	require.Equal(t, []string{"a.test"}, queues.Values)
	require.EqualValues(t, 1, queues.Total)
	require.EqualValues(t, 1, queues.Size)
	require.Equal(t, "DEFAULT", queues.CrawlID)
	queues, err = p.ListQueues(ctx, &pb.Pagination{IncludeInactive: true, Start: 1, Size: 5, CrawlID: "DEFAULT"})
	require.NoError(t, err)
	require.Equal(t, []string{"b.test"}, queues.Values)
	require.EqualValues(t, 2, queues.Total)
	require.EqualValues(t, 1, queues.Start)

	given := p.infos(t, &pb.GetParams{Key: "a.test", MaxUrlsPerQueue: 1})
	require.Len(t, given, 1)
	require.Equal(t, "http://A.test:8080/1", given[0].Url)
	require.Equal(t, "a.test", given[0].Key)
	require.Equal(t, "DEFAULT", given[0].CrawlID)
	require.Equal(t, "1", given[0].Metadata["depth"].Values[0])

	s := p.stats(t, "", "")
	require.EqualValues(t, 2, s.Size)
	require.EqualValues(t, 1, s.InProcess)
	require.EqualValues(t, 2, s.NumberOfQueues)
	require.Equal(t, "DEFAULT", s.CrawlID)
	require.Equal(t, map[string]uint64{"completed": 1, "active_queues": 1}, s.Counts)
	require.Zero(t, p.stats(t, "", "unknown").NumberOfQueues)

	item, err := p.GetURLStatus(ctx, &pb.URLStatusRequest{Url: "http://a.test/2"})
	require.NoError(t, err)
	require.Equal(t, p.clock.unix(0), item.CreationDate)
	require.Equal(t, p.clock.unix(0), item.GetKnown().RefetchableFromDate)
	require.Equal(t, "a.test", item.GetKnown().Info.Key)
	_, err = p.GetURLStatus(ctx, &pb.URLStatusRequest{Url: "http://a.test/3"})
	require.Equal(t, codes.NotFound, code(err))

	require.Len(t, p.list(t, &pb.ListUrlParams{}), 3)
	require.Len(t, p.list(t, &pb.ListUrlParams{Key: "a.test"}), 2)
	filter, ignore := "HTTP://a", true
	require.Len(t, p.list(t, &pb.ListUrlParams{Filter: &filter}), 0)
	require.Len(t, p.list(t, &pb.ListUrlParams{Filter: &filter, IgnoreCase: &ignore}), 2)
	count, err := p.CountURLs(ctx, &pb.CountUrlParams{Filter: &filter, IgnoreCase: &ignore})
	require.NoError(t, err)
	require.EqualValues(t, 2, count.Value)
	count, err = p.CountURLs(ctx, &pb.CountUrlParams{})
	require.NoError(t, err)
	require.EqualValues(t, 3, count.Value)

	for _, do := range []func() (*pb.Empty, error){
		func() (*pb.Empty, error) {
			return p.BlockQueueUntil(ctx, &pb.BlockQueueParams{Key: "a.test", Time: p.clock.unix(time.Hour)})
		},
		func() (*pb.Empty, error) {
			return p.SetDelay(ctx, &pb.QueueDelayParams{Key: "a.test", DelayRequestable: 5})
		},
		func() (*pb.Empty, error) { return p.SetDelay(ctx, &pb.QueueDelayParams{DelayRequestable: 1}) },
		func() (*pb.Empty, error) { return p.SetCrawlLimit(ctx, &pb.CrawlLimitParams{Key: "a.test", Limit: 7}) },
		func() (*pb.Empty, error) { return p.SetActive(ctx, &pb.Active{}) },
	} {
		_, err := do()
		require.NoError(t, err)
	}
	active, err := p.GetActive(ctx, &pb.Local{})
	require.NoError(t, err)
	require.False(t, active.State)

	_, err = p.SetLogLevel(ctx, &pb.LogLevelParams{Level: pb.LogLevelParams_DEBUG})
	require.Equal(t, codes.Unimplemented, code(err))
	require.NotEmpty(t, status.Convert(err).Message())

	gone, err := p.DeleteQueue(ctx, &pb.QueueWithinCrawlParams{Key: "a.test"})
	require.NoError(t, err)
	require.EqualValues(t, 2, gone.Value)
	p.clock.pass(49 * time.Hour)
	gone, err = p.PurgeURLs(ctx, &pb.PurgeUrlParams{CrawlID: "news", Days: 3})
	require.NoError(t, err)
	require.Zero(t, gone.Value)
	gone, err = p.PurgeURLs(ctx, &pb.PurgeUrlParams{CrawlID: "news", Days: 2})
	require.NoError(t, err)
	require.EqualValues(t, 1, gone.Value)
	gone, err = p.DeleteCrawl(ctx, &pb.DeleteCrawlMessage{})
	require.NoError(t, err)
	require.EqualValues(t, 1, gone.Value)
	crawls, err = p.ListCrawls(ctx, &pb.Local{})
	require.NoError(t, err)
	require.Empty(t, crawls.Values)
}

// Batches of discovered URLs have a status for each.
func TestPutDiscovered(t *testing.T) {
	t.Parallel()
	for _, skip := range []bool{false, true} {
		p := newPeer(t, func(c *frontier.Config) { c.SkipKnown = skip })
		stream, err := p.PutDiscovered(t.Context())
		require.NoError(t, err)
		known := pb.AckMessage_OK
		if skip {
			known = pb.AckMessage_SKIPPED
		}
		for _, c := range []struct {
			urls []string
			want []pb.AckMessage_Status
		}{
			{nil, nil}, // by which a client finds out whether there is such a call
			{[]string{"http://a.test/1", "http://b.test/1", "http://a.test/2"}, []pb.AckMessage_Status{0, 0, 0}},
			{[]string{"http://a.test/1", "", "http://c.test/"}, []pb.AckMessage_Status{known, pb.AckMessage_SKIPPED, 0}},
			{[]string{"http://d.test/1", "http://d.test/1"}, []pb.AckMessage_Status{0, known}},
		} {
			batch := &pb.DiscoveredBatch{ID: fmt.Sprint(c.urls)}
			for _, u := range c.urls {
				batch.Items = append(batch.Items, info("", "", u))
			}
			require.NoError(t, stream.Send(batch))
			ack, err := stream.Recv()
			require.NoError(t, err)
			require.Equal(t, batch.ID, ack.ID)
			require.Equal(t, c.want, ack.Statuses)
		}
		require.NoError(t, stream.CloseSend())
		require.EqualValues(t, 5, p.stats(t, "", "").Size)
	}
}

// A client may compress what it sends, as to the reference implementation, and a message has no more in it for that.
// The package that can decompress is not imported here: it would serve the server, too.
func TestCompressedMessages(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	put := func(url string) error {
		stream, err := p.PutURLs(t.Context(), grpc.UseCompressor("gzip"))
		require.NoError(t, err)
		require.NoError(t, stream.Send(discovered(info("", "a", url))))
		_, err = stream.Recv()
		return err
	}
	require.NoError(t, put("http://a.test/"))
	require.Equal(t, codes.ResourceExhausted, code(put(strings.Repeat("x", 2*frontier.LongestMessage))))
	stats, err := p.GetStats(t.Context(), &pb.QueueWithinCrawlParams{}, grpc.UseCompressor("gzip"))
	require.NoError(t, err)
	require.EqualValues(t, 1, stats.Size)
}

// A batch that would take a multiple of its size in memory is refused as a whole.
func TestPutTooMuch(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	for _, c := range []struct {
		urls, bytes int // of each
		want        codes.Code
	}{
		{frontier.MostURLs, 0, codes.OK}, {frontier.MostURLs + 1, 0, codes.InvalidArgument},
		{frontier.LongestMessage >> 14, 15 << 10, codes.OK}, {frontier.LongestMessage >> 14, 16 << 10, codes.ResourceExhausted},
	} {
		stream, err := p.PutDiscovered(t.Context())
		require.NoError(t, err)
		batch := &pb.DiscoveredBatch{}
		for range c.urls {
			batch.Items = append(batch.Items, &pb.URLInfo{Url: strings.Repeat("x", c.bytes)})
		}
		require.NoError(t, stream.Send(batch))
		ack, err := stream.Recv()
		require.Equal(t, c.want, code(err), err)
		require.True(t, err != nil || len(ack.Statuses) == c.urls)
	}
}

// A client that reads no acknowledgements is taken no more messages from when these take up memory, and all of
// them once it does.
func TestUnreadAcknowledgements(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	const messages = 40
	const most = frontier.InFlightBytes>>20 + 10 // some more are on the way
	id := strings.Repeat("x", 1<<20)
	items, err := p.PutURLs(t.Context())
	require.NoError(t, err)
	batches, err := p.PutDiscovered(t.Context())
	require.NoError(t, err)
	sent := make(chan error, 2)
	go func() {
		var err error
		for n := 0; n < messages && err == nil; n++ {
			item := discovered(info("a", "", fmt.Sprint("http://a.test/", n)))
			item.ID = id
			err = items.Send(item)
		}
		sent <- err
	}()
	go func() {
		var err error
		urls := make([]*pb.URLInfo, 1<<15) // a receipt of 1 MiB
		for n := 0; n < messages && err == nil; n++ {
			urls[0] = info("b", "", fmt.Sprint("http://b.test/", n))
			err = batches.Send(&pb.DiscoveredBatch{Items: urls})
		}
		sent <- err
	}()
	for _, crawl := range []string{"a", "b"} {
		require.Never(t, func() bool { return p.stats(t, crawl, "").Size > most }, time.Second, 10*time.Millisecond)
	}
	for range messages {
		ack, err := items.Recv()
		require.NoError(t, err)
		require.Equal(t, pb.AckMessage_OK, ack.Status)
		batch, err := batches.Recv()
		require.NoError(t, err)
		require.Equal(t, pb.AckMessage_OK, batch.Statuses[0])
	}
	require.NoError(t, <-sent)
	require.NoError(t, <-sent)
}

// Bad input changes nothing, gets a clear answer, and does not end the stream.
func TestBadInput(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	ctx := t.Context()
	long := strings.Repeat("x", 300)
	bad := []*pb.URLItem{
		{ID: "nothing"},
		{ID: "no info", Item: &pb.URLItem_Known{}},
		{ID: "no info", Item: &pb.URLItem_Discovered{Discovered: &pb.DiscoveredURLItem{}}},
		discovered(info("", "", "")),
		discovered(info("", "key", "")),
		discovered(info("", "", "not a url")),
		discovered(info("", "", "mailto:a@b.test")),
		discovered(info("", "", "http://")),
		discovered(info("", "", "http://a b/%zz")),
		discovered(info("", long, "http://a.test/")),
		discovered(info(long, "", "http://a.test/")),
		discovered(info("", "", "http://"+long+"/")),
		discovered(info("", "", "http://a.test/"+strings.Repeat("x", 1<<20))),
		known(info("", "", "http://a.test/", "text", strings.Repeat("x", 1<<20)), 1),
	}
	good := []*pb.URLItem{
		discovered(info("", "any", "not a url")), discovered(info("", "", "http://a.test/%zz")),
		discovered(info("", "", "http://gac.icann.org?language_id=9")), discovered(info("", "", "http://u@a.test:80/%zz")),
		discovered(info("", "", "http://[::1]:80/")),
	}
	acks := p.put(t, append(bad, good...)...)
	require.Len(t, acks, len(bad)+len(good))
	for i, a := range acks {
		want := pb.AckMessage_OK
		if i < len(bad) {
			want = pb.AckMessage_SKIPPED
		}
		require.Equal(t, want, a.Status, "%d: %.100s", i, a.ID)
	}
	require.Equal(t, "nothing", acks[0].ID)
	for key, n := range map[string]int{"any": 1, "a.test": 2, "gac.icann.org": 1, "::1": 1} {
		require.EqualValues(t, n, p.stats(t, "", key).Size, key)
	}
	for _, err := range []error{
		second(p.SetCrawlLimit(ctx, &pb.CrawlLimitParams{Limit: 1})),
		second(p.BlockQueueUntil(ctx, &pb.BlockQueueParams{Time: 1})),
		second(p.DeleteQueue(ctx, &pb.QueueWithinCrawlParams{})),
	} {
		require.Equal(t, codes.InvalidArgument, code(err), "%v", err)
	}
	require.Equal(t, codes.NotFound, code(second(p.SetCrawlLimit(ctx, &pb.CrawlLimitParams{Key: "unknown", Limit: 1}))))
	require.Empty(t, p.get(t, &pb.GetParams{Key: "unknown"}))
	require.Empty(t, p.get(t, inCrawl("unknown", &pb.GetParams{})))
	gone, err := p.DeleteQueue(ctx, &pb.QueueWithinCrawlParams{Key: "unknown"})
	require.NoError(t, err)
	require.Zero(t, gone.Value)
}

// A name that is longer than that of any queue or crawl is refused by every call, and the server goes
// on: one that is larger than a record would stop the log for good.
func TestLongNames(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	ctx := t.Context()
	for _, size := range []int{256, 2 << 20} {
		long := strings.Repeat("x", size)
		for name, call := range map[string]func() error{
			"SetDelay, key":         func() error { return second(p.SetDelay(ctx, &pb.QueueDelayParams{Key: long})) },
			"SetDelay, crawl":       func() error { return second(p.SetDelay(ctx, &pb.QueueDelayParams{Key: "q", CrawlID: long})) },
			"BlockQueueUntil":       func() error { return second(p.BlockQueueUntil(ctx, &pb.BlockQueueParams{Key: long})) },
			"BlockQueueUntil crawl": func() error { return second(p.BlockQueueUntil(ctx, &pb.BlockQueueParams{Key: "q", CrawlID: long})) },
			"SetCrawlLimit":         func() error { return second(p.SetCrawlLimit(ctx, &pb.CrawlLimitParams{Key: "q", CrawlID: long})) },
			"DeleteQueue":           func() error { return second(p.DeleteQueue(ctx, &pb.QueueWithinCrawlParams{Key: "q", CrawlID: long})) },
			"DeleteCrawl":           func() error { return second(p.DeleteCrawl(ctx, &pb.DeleteCrawlMessage{Value: long})) },
			"PurgeURLs, key":        func() error { return second(p.PurgeURLs(ctx, &pb.PurgeUrlParams{Key: long})) },
			"PurgeURLs, crawl":      func() error { return second(p.PurgeURLs(ctx, &pb.PurgeUrlParams{CrawlID: long})) },
			"ListQueues":            func() error { return second(p.ListQueues(ctx, &pb.Pagination{CrawlID: long})) },
			"GetStats":              func() error { return second(p.GetStats(ctx, &pb.QueueWithinCrawlParams{Key: long})) },
			"GetURLStatus":          func() error { return second(p.GetURLStatus(ctx, &pb.URLStatusRequest{Url: "u", Key: long})) },
			"CountURLs":             func() error { return second(p.CountURLs(ctx, &pb.CountUrlParams{Key: long})) },
			"ListURLs": func() error {
				stream, err := p.ListURLs(ctx, &pb.ListUrlParams{CrawlID: long})
				require.NoError(t, err)
				return second(stream.Recv())
			},
			"GetURLs": func() error {
				stream, err := p.GetURLs(ctx, inCrawl(long, &pb.GetParams{}))
				require.NoError(t, err)
				return second(stream.Recv())
			},
		} {
			require.Equal(t, codes.InvalidArgument, code(call()), name)
		}
	}
	p.ok(t, discovered(info("", "q", "u")))
	require.EqualValues(t, 1, p.stats(t, "", "q").Size)
}

func second[T any](_ T, err error) error { return err }
