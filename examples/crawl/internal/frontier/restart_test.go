package frontier_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/examples/crawl/internal/frontier"
	pb "github.com/recrawl/recrawl/examples/crawl/internal/frontier/urlfrontierpb"
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

// A brokenLog takes nothing any more once it is broken.
type brokenLog struct {
	frontier.Log
	broken chan struct{}
	stored chan int    // sizes of the snapshots that were stored; nil if nobody wants to know
	replay chan func() // is called before a snapshot is made from the log
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
