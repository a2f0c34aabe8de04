package frontier_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/examples/crawl/internal/frontier"
	"github.com/recrawl/recrawl/examples/crawl/internal/frontier/book"
	pb "github.com/recrawl/recrawl/examples/crawl/internal/frontier/urlfrontierpb"
	"github.com/recrawl/recrawl/knapsack"
)

// Leases, blocks, delays, limits and whether URLs are given at all are there after a restart, by a
// snapshot or by the log.
func TestRestart(t *testing.T) {
	t.Parallel()
	for name, again := range map[string]func(*peer){
		"snapshot": func(p *peer) { p.restart(t) },
		"log": func(p *peer) {
			p.breakLog()
			_ = p.halt()
			p.start(t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, nil)
			ctx := t.Context()
			for _, q := range []string{"lease", "block", "delay", "limit", "other"} {
				p.ok(t, discovered(info("", q, q+"1")), discovered(info("", q, q+"2", "k", "v")))
			}
			require.Equal(t, []string{"lease1"}, p.get(t, &pb.GetParams{Key: "lease", MaxUrlsPerQueue: 1, DelayRequestable: 60}))
			_, err := p.BlockQueueUntil(ctx, &pb.BlockQueueParams{Key: "block", Time: p.clock.unix(time.Minute)})
			require.NoError(t, err)
			_, err = p.SetDelay(ctx, &pb.QueueDelayParams{Key: "delay", DelayRequestable: 60})
			require.NoError(t, err)
			require.Equal(t, []string{"delay1"}, p.get(t, &pb.GetParams{Key: "delay", MaxUrlsPerQueue: 1, DelayRequestable: 1}))
			p.ok(t, known(info("", "limit", "limit1"), 0))
			_, err = p.SetCrawlLimit(ctx, &pb.CrawlLimitParams{Key: "limit", Limit: 1})
			require.NoError(t, err)
			again(p)
			p.clock.pass(2 * time.Second)
			require.Equal(t, []string{"lease2", "other1", "other2"}, p.get(t, &pb.GetParams{DelayRequestable: 300}))
			p.clock.pass(time.Minute)
			given := p.infos(t, &pb.GetParams{DelayRequestable: 300})
			urls := []string{}
			for _, i := range given {
				urls = append(urls, i.Url)
			}
			require.ElementsMatch(t, []string{"lease1", "block1", "block2", "delay1", "delay2"}, urls)
			_, err = p.SetActive(ctx, &pb.Active{})
			require.NoError(t, err)
			again(p)
			active, err := p.GetActive(ctx, &pb.Local{})
			require.NoError(t, err)
			require.False(t, active.State)
			item, err := p.GetURLStatus(ctx, &pb.URLStatusRequest{Url: "other2", Key: "other"})
			require.NoError(t, err)
			require.Equal(t, "v", item.GetKnown().Info.Metadata["k"].Values[0])
		})
	}
}

// The delay of all queues stays over a restart, unless another one is set, which may be 0.
func TestDelayOfAll(t *testing.T) {
	t.Parallel()
	hour, none := time.Hour, time.Duration(0)
	p := newPeer(t, func(c *frontier.Config) { c.Delay = &hour })
	p.ok(t, discovered(info("", "q", "1")), discovered(info("", "q", "2")))
	one := &pb.GetParams{MaxUrlsPerQueue: 1}
	require.Equal(t, []string{"1"}, p.get(t, one))
	p.cfg.Delay = nil
	p.restart(t)
	require.Empty(t, p.get(t, one))
	p.cfg.Delay = &none
	p.restart(t)
	require.Equal(t, []string{"2"}, p.get(t, one))
}

// A brokenLog takes nothing any more once it is broken.
type brokenLog struct {
	frontier.Log
	broken chan struct{}
	stored chan int    // sizes of the snapshots that were stored; nil if nobody wants to know
	replay chan func() // is called before a snapshot is made from the log
	record chan func() // is called before a record is appended
}

func (b brokenLog) Replay(ctx context.Context, at engine.Mark, load, apply func([]byte) error) error {
	select {
	case do := <-b.replay:
		do()
	default:
	}
	return b.Log.Replay(ctx, at, load, apply)
}

var errBroken = errors.New("the disk is gone")

func (b brokenLog) Append(ctx context.Context, record []byte) error {
	select {
	case do := <-b.record:
		do()
	default:
	}
	select {
	case <-b.broken:
		return errBroken
	default:
		return b.Log.Append(ctx, record)
	}
}

func (b brokenLog) Snapshot(ctx context.Context, at engine.Mark, state []byte) error {
	select {
	case <-b.broken:
		return errBroken
	default:
		err := b.Log.Snapshot(ctx, at, state)
		if b.stored != nil && err == nil {
			b.stored <- len(state)
		}
		return err
	}
}

// A stuckLog neither takes nor refuses anything once it is stuck, until it is told to give up.
type stuckLog struct {
	frontier.Log
	stuck chan struct{}
	asked chan struct{}
}

func (l stuckLog) Append(ctx context.Context, record []byte) error {
	select {
	case <-l.stuck:
		l.asked <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	default:
		return l.Log.Append(ctx, record)
	}
}

func (l stuckLog) Snapshot(ctx context.Context, at engine.Mark, state []byte) error {
	select {
	case <-l.stuck:
		<-ctx.Done()
		return ctx.Err()
	default:
		return l.Log.Snapshot(ctx, at, state)
	}
}

// A server that is to stop ends although its log neither takes nor refuses a change, or the snapshot:
// the change is not acknowledged, and what was is there after a restart.
func TestStopsWithoutLog(t *testing.T) {
	t.Parallel()
	for _, change := range []bool{true, false} {
		p := newPeer(t, nil)
		p.ok(t, discovered(info("", "q", "u")))
		require.NoError(t, p.halt())

		ctx := t.Context()
		e, err := engine.Open(ctx, engine.Config{Dir: p.dir, Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		log, err := e.Own(ctx, 0)
		require.NoError(t, err)
		stuck := stuckLog{log, make(chan struct{}), make(chan struct{}, 1)}
		p.cfg.State, p.cfg.Log = book.New(knapsack.Detections), stuck
		require.NoError(t, frontier.Restore(ctx, p.cfg.State, log))
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		s := frontier.New(p.cfg)
		s.Hurry()
		serving, cancel := context.WithCancel(ctx)
		done := make(chan error, 1)
		go func() { done <- s.Serve(serving, l) }()
		conn, err := grpc.NewClient(l.Addr().String(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		client := pb.NewURLFrontierClient(conn)
		_, err = client.SetDelay(ctx, &pb.QueueDelayParams{Key: "q", DelayRequestable: 1})
		require.NoError(t, err)
		close(stuck.stuck)
		answered := make(chan error, 1)
		if change {
			go func() { answered <- second(client.SetActive(ctx, &pb.Active{})) }()
			<-stuck.asked
		}
		cancel()
		err = <-done
		if change {
			require.ErrorContains(t, err, "not acknowledged")
			require.Equal(t, codes.Unavailable, code(<-answered))
		} else {
			require.NoError(t, err)
		}
		require.NoError(t, conn.Close())
		e.Close()
		p.start(t)
		active, err := p.GetActive(ctx, &pb.Local{})
		require.NoError(t, err)
		require.True(t, active.State)
		require.EqualValues(t, 1, p.stats(t, "", "q").Size)
	}
}

// A discovered URL that is known only by a change that is not in the log yet is not acknowledged before that
// change is: with it it may be lost.
func TestKnownButNotLogged(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	p.record = make(chan func(), 1)
	p.restart(t)
	writing, ok := make(chan struct{}), make(chan bool, 2)
	p.record <- func() {
		close(writing)
		select {
		case first := <-ok:
			ok <- first
		case <-time.After(200 * time.Millisecond): // enough for an answer that does not wait
		}
		p.breakLog()
	}
	put := func() {
		stream, err := p.PutURLs(context.Background())
		if err == nil {
			err = stream.Send(discovered(info("", "q", "u")))
		}
		if err != nil {
			ok <- false
			return
		}
		ack, err := stream.Recv() // the server ends as its log fails
		ok <- err == nil && ack.Status == pb.AckMessage_OK
	}
	go put()
	<-writing
	put()
	for range 2 {
		require.False(t, <-ok)
	}
	_ = p.halt()
	p.start(t)
	require.Zero(t, p.stats(t, "", "q").Size)
}
