package frontier_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/examples/crawl/internal/frontier"
	"github.com/recrawl/recrawl/examples/crawl/internal/frontier/book"
	pb "github.com/recrawl/recrawl/examples/crawl/internal/frontier/urlfrontierpb"
	"github.com/recrawl/recrawl/knapsack"
)

// A handClock goes when it is told to.
type handClock struct {
	mu  sync.Mutex
	now time.Time
}

func newHandClock() *handClock { return &handClock{now: time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)} }

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// pass lets a time pass and a millisecond, as events are microseconds apart.
func (c *handClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d + time.Millisecond)
}

func (c *handClock) Sleep(context.Context, time.Duration)  {}
func (c *handClock) Real(d time.Duration) time.Duration    { return d }
func (c *handClock) unix(d time.Duration) (seconds uint64) { return uint64(c.Now().Add(d).Unix()) }

// A peer is a server on loopback with its state in a folder, and a client of it.
type peer struct {
	pb.URLFrontierClient
	clock *handClock
	dir   string
	cfg   frontier.Config
	halt  func() error // ends the server, and returns its error
	log   brokenLog
	// See brokenLog.
	stored chan int
	replay chan func()
	record chan func()
}

// newPeer starts a server, with settings if that is not nil.
func newPeer(t testing.TB, set func(*frontier.Config)) *peer {
	p := &peer{clock: newHandClock(), dir: t.TempDir()}
	p.cfg = frontier.Config{Keys: book.DefaultKeys(), Clock: p.clock, Address: "here"}
	if set != nil {
		set(&p.cfg)
	}
	p.start(t)
	t.Cleanup(func() { _ = p.halt() })
	return p
}

func (p *peer) start(t testing.TB) {
	ctx := context.Background()
	e, err := engine.Open(ctx, engine.Config{Dir: p.dir, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	log, err := e.Own(ctx, 0)
	require.NoError(t, err)
	p.log = brokenLog{log, make(chan struct{}), p.stored, p.replay, p.record}
	p.cfg.State, p.cfg.Log = book.New(knapsack.Detections), p.log
	require.NoError(t, frontier.Restore(ctx, p.cfg.State, log))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	serving, cancel := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- frontier.New(p.cfg).Serve(serving, l) }()
	conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithInitialWindowSize(1<<16)) // which does not grow, so that little is on the way to a client that reads nothing
	require.NoError(t, err)
	p.URLFrontierClient = pb.NewURLFrontierClient(conn)
	p.halt = sync.OnceValue(func() error {
		_ = conn.Close()
		cancel()
		err := <-done
		log.Release(ctx)
		e.Close()
		return err
	})
}

// breakLog has the log take nothing any more, so that the server knows what it does not.
func (p *peer) breakLog() { close(p.log.broken) }

// restart stops the server and starts it again.
func (p *peer) restart(t testing.TB) {
	require.NoError(t, p.halt())
	p.start(t)
}

func info(crawl, key, url string, meta ...string) *pb.URLInfo {
	i := &pb.URLInfo{Url: url, Key: key, CrawlID: crawl}
	for k := 0; k+1 < len(meta); k += 2 {
		if i.Metadata == nil {
			i.Metadata = map[string]*pb.StringList{}
		}
		i.Metadata[meta[k]] = &pb.StringList{Values: []string{meta[k+1]}}
	}
	return i
}

func discovered(i *pb.URLInfo) *pb.URLItem {
	return &pb.URLItem{Item: &pb.URLItem_Discovered{Discovered: &pb.DiscoveredURLItem{Info: i}}}
}

func known(i *pb.URLInfo, from uint64) *pb.URLItem {
	return &pb.URLItem{Item: &pb.URLItem_Known{Known: &pb.KnownURLItem{Info: i, RefetchableFromDate: from}}}
}

// put puts items on one stream and returns the acknowledgements.
func (p *peer) put(t testing.TB, items ...*pb.URLItem) []*pb.AckMessage {
	stream, err := p.PutURLs(t.Context())
	require.NoError(t, err)
	for _, i := range items {
		require.NoError(t, stream.Send(i))
	}
	require.NoError(t, stream.CloseSend())
	return drain(t, stream.Recv)
}

// ok puts items, all of which are to be acknowledged OK.
func (p *peer) ok(t testing.TB, items ...*pb.URLItem) {
	t.Helper()
	acks := p.put(t, items...)
	require.Len(t, acks, len(items))
	for _, a := range acks {
		require.Equal(t, pb.AckMessage_OK, a.Status, a.ID)
	}
}

func (p *peer) infos(t testing.TB, params *pb.GetParams) []*pb.URLInfo {
	stream, err := p.GetURLs(t.Context(), params)
	require.NoError(t, err)
	return drain(t, stream.Recv)
}

// get returns the texts of the URLs that are given.
func (p *peer) get(t testing.TB, params *pb.GetParams) []string {
	urls := []string{}
	for _, i := range p.infos(t, params) {
		urls = append(urls, i.Url)
	}
	return urls
}

func inCrawl(crawl string, params *pb.GetParams) *pb.GetParams {
	params.Item = &pb.GetParams_CrawlID{CrawlID: crawl}
	return params
}

func (p *peer) list(t testing.TB, params *pb.ListUrlParams) []*pb.URLItem {
	stream, err := p.ListURLs(t.Context(), params)
	require.NoError(t, err)
	return drain(t, stream.Recv)
}

func (p *peer) stats(t testing.TB, crawl, key string) *pb.Stats {
	s, err := p.GetStats(t.Context(), &pb.QueueWithinCrawlParams{CrawlID: crawl, Key: key})
	require.NoError(t, err)
	return s
}

// drain receives all there is.
func drain[T any](t testing.TB, receive func() (*T, error)) (all []*T) {
	for {
		m, err := receive()
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, m)
	}
}
