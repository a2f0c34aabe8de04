package frontier_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/frontier"
	pb "github.com/recrawl/recrawl/examples/crawl/internal/frontier/urlfrontierpb"
)

// What clients of the interface rely on, one by one.

func TestEmptyCrawlIsDefault(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	p.ok(t, discovered(info("", "q", "u1")), discovered(info("DEFAULT", "q", "u2")), discovered(info("other", "q", "u3")))
	require.EqualValues(t, 2, p.stats(t, "", "").Size)
	require.EqualValues(t, 2, p.stats(t, "DEFAULT", "q").Size)
	require.Equal(t, []string{"u1"}, p.get(t, inCrawl("", &pb.GetParams{MaxUrlsPerQueue: 1})))
	require.Equal(t, []string{"u2"}, p.get(t, &pb.GetParams{Key: "q"}), "a key alone is one of DEFAULT")
	require.Equal(t, []string{"u3"}, p.get(t, &pb.GetParams{}), "no key is any crawl")
	p.clock.pass(time.Minute)
	require.Len(t, p.get(t, &pb.GetParams{Key: "q", Item: &pb.GetParams_AnyCrawlID{AnyCrawlID: &pb.AnyCrawlID{}}}), 3)
}

func TestDiscoveredKnownIsIgnored(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	p.ok(t, known(info("", "q", "done"), 0), known(info("", "q", "later", "k", "v"), p.clock.unix(time.Hour)), discovered(info("", "q", "new", "k", "v")))
	p.clock.pass(time.Minute)
	p.ok(t, discovered(info("", "q", "done")), discovered(info("", "q", "later")), discovered(info("", "q", "new", "k", "w")))
	require.Equal(t, []string{"new"}, p.get(t, &pb.GetParams{}))
	for _, u := range []string{"later", "new"} {
		item, err := p.GetURLStatus(t.Context(), &pb.URLStatusRequest{Url: u, Key: "q"})
		require.NoError(t, err)
		require.Equal(t, "v", item.GetKnown().Info.Metadata["k"].Values[0])
		require.Equal(t, p.clock.unix(-time.Minute), item.CreationDate)
	}
}

func TestDateZeroIsNeverAgain(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	p.ok(t, discovered(info("", "q", "u")))
	require.Len(t, p.get(t, &pb.GetParams{}), 1)
	p.ok(t, known(info("", "q", "u"), 0), discovered(info("", "q", "u")))
	p.clock.pass(1000 * time.Hour)
	require.Empty(t, p.get(t, &pb.GetParams{}))
	require.EqualValues(t, 1, p.stats(t, "", "q").Counts["completed"])
	require.Zero(t, p.stats(t, "", "q").Size)
	// A client that fetched it after all may say so.
	p.ok(t, known(info("", "q", "u"), p.clock.unix(0)))
	require.Len(t, p.get(t, &pb.GetParams{}), 1)
}

func TestDueFirstIsFirst(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	p.ok(t, known(info("", "q", "now"), p.clock.unix(0)), known(info("", "q", "late"), p.clock.unix(-time.Hour)),
		known(info("", "q", "soon"), p.clock.unix(time.Hour)), known(info("", "q", "later"), p.clock.unix(-time.Minute)))
	require.Equal(t, []string{"late", "later"}, p.get(t, &pb.GetParams{Key: "q", MaxUrlsPerQueue: 2}))
	require.Equal(t, []string{"now"}, p.get(t, &pb.GetParams{Key: "q"}))
	p.clock.pass(time.Hour)
	require.Equal(t, []string{"late", "later", "now", "soon"}, p.get(t, &pb.GetParams{Key: "q"}))
}

func TestLease(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	p.ok(t, discovered(info("", "q", "u")), discovered(info("", "q", "v")))
	require.Equal(t, []string{"u"}, p.get(t, &pb.GetParams{MaxUrlsPerQueue: 1, DelayRequestable: 2}))
	require.Equal(t, []string{"v"}, p.get(t, &pb.GetParams{}))
	require.Empty(t, p.get(t, &pb.GetParams{}))
	require.EqualValues(t, 2, p.stats(t, "", "q").InProcess)
	p.clock.pass(2 * time.Second)
	require.EqualValues(t, 1, p.stats(t, "", "q").InProcess)
	require.Equal(t, []string{"u"}, p.get(t, &pb.GetParams{}))
	p.clock.pass(27 * time.Second)
	require.Empty(t, p.get(t, &pb.GetParams{}), "a lease is of 30 s if nothing else is said")
	p.clock.pass(time.Second)
	require.Equal(t, []string{"v"}, p.get(t, &pb.GetParams{}))
	// Put back: the lease is over, and it comes when its date does.
	p.ok(t, known(info("", "q", "v"), p.clock.unix(time.Second)))
	require.EqualValues(t, 1, p.stats(t, "", "q").InProcess)
	require.Empty(t, p.get(t, &pb.GetParams{}))
	p.clock.pass(time.Second)
	require.Equal(t, []string{"v"}, p.get(t, &pb.GetParams{}))
}

// A lease that is over stays over if the next call is a purge of other URLs of the queue.
func TestLeaseOverAtPurge(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	p.ok(t, discovered(info("", "q", "old")))
	p.clock.pass(48 * time.Hour)
	p.ok(t, discovered(info("", "q", "new")))
	require.Len(t, p.get(t, &pb.GetParams{DelayRequestable: 2}), 2)
	p.clock.pass(2 * time.Second)
	gone, err := p.PurgeURLs(t.Context(), &pb.PurgeUrlParams{Days: 1})
	require.NoError(t, err)
	require.EqualValues(t, 1, gone.Value)
	require.Zero(t, p.stats(t, "", "q").InProcess)
}

func TestBlockAndDelay(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	ctx := t.Context()
	for _, u := range []string{"1", "2", "3", "4", "5", "6", "7"} {
		p.ok(t, discovered(info("", "q", u)), discovered(info("", "r", u)))
	}
	one := &pb.GetParams{Key: "q", MaxUrlsPerQueue: 1}
	block := func(until uint64) {
		_, err := p.BlockQueueUntil(ctx, &pb.BlockQueueParams{Key: "q", Time: until})
		require.NoError(t, err)
	}
	delay := func(key string, s uint32) {
		_, err := p.SetDelay(ctx, &pb.QueueDelayParams{Key: key, DelayRequestable: s})
		require.NoError(t, err)
	}
	block(p.clock.unix(10 * time.Second))
	require.Empty(t, p.get(t, one))
	require.Equal(t, []string{"1"}, p.get(t, &pb.GetParams{MaxUrlsPerQueue: 1}), "of the other queue")
	queues, err := p.ListQueues(ctx, &pb.Pagination{})
	require.NoError(t, err)
	require.Equal(t, []string{"r"}, queues.Values)
	p.clock.pass(10 * time.Second)
	require.Len(t, p.get(t, one), 1)
	block(p.clock.unix(time.Hour))
	require.Empty(t, p.get(t, one))
	block(0)
	require.Len(t, p.get(t, one), 1)

	delay("", 5)
	require.Empty(t, p.get(t, one), "it gave just now")
	p.clock.pass(5 * time.Second)
	require.Len(t, p.get(t, one), 1)
	delay("q", 2)
	p.clock.pass(2 * time.Second)
	require.Len(t, p.get(t, one), 1)
	require.Empty(t, p.get(t, one))
	delay("q", 0)
	require.Len(t, p.get(t, one), 1)
	require.Len(t, p.get(t, &pb.GetParams{Key: "q"}), 2, "within one call there is no delay")

	// What is set before there is a URL holds.
	delay("new", 60)
	p.ok(t, discovered(info("", "new", "1")), discovered(info("", "new", "2")))
	require.Len(t, p.get(t, &pb.GetParams{Key: "new", MaxUrlsPerQueue: 1}), 1)
	require.Empty(t, p.get(t, &pb.GetParams{Key: "new"}))
}

func TestListQueuesLeavesOutInactive(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	for i := range 12 {
		q := string(rune('a' + i))
		p.ok(t, discovered(info("one", q, q)), discovered(info("two", q, q)))
		if i%2 == 1 {
			p.ok(t, known(info("one", q, q), 0))
		}
	}
	pages := func(inactive bool) (all []string) {
		for {
			l, err := p.ListQueues(t.Context(), &pb.Pagination{CrawlID: "one", Start: uint32(len(all)), Size: 5, IncludeInactive: inactive})
			require.NoError(t, err)
			require.EqualValues(t, len(l.Values), l.Size)
			if all = append(all, l.Values...); l.Size == 0 {
				return all
			}
		}
	}
	require.Equal(t, []string{"a", "c", "e", "g", "i", "k"}, pages(false))
	require.Len(t, pages(true), 12)
}

func TestAcknowledgements(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	with := discovered(info("", "q", "u1"))
	with.ID = "mine"
	acks := p.put(t, with, discovered(info("", "q", "u2")), discovered(info("", "", "")))
	require.Len(t, acks, 3)
	require.Equal(t, "mine", acks[0].ID)
	require.Equal(t, "u2", acks[1].ID)
	require.Equal(t, pb.AckMessage_SKIPPED, acks[2].Status)

	// FAIL while the log is gone, and the stream goes on.
	stream, err := p.PutURLs(t.Context())
	require.NoError(t, err)
	require.NoError(t, stream.Send(discovered(info("", "q", "u3"))))
	_, err = stream.Recv()
	require.NoError(t, err)
	p.breakLog()
	require.NoError(t, stream.Send(discovered(info("", "q", "u4"))))
	ack, err := stream.Recv()
	if err == nil { // or the server has gone
		require.Equal(t, pb.AckMessage_FAIL, ack.Status)
	}
	_ = p.halt()
	p.start(t)
	require.EqualValues(t, 3, p.stats(t, "", "q").Size)
}

func TestSetActive(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	set := func(on bool) {
		_, err := p.SetActive(t.Context(), &pb.Active{State: on})
		require.NoError(t, err)
	}
	set(false)
	p.ok(t, discovered(info("", "q", "u")))
	require.Empty(t, p.get(t, &pb.GetParams{}))
	require.Empty(t, p.get(t, &pb.GetParams{Key: "q"}))
	set(true)
	require.Len(t, p.get(t, &pb.GetParams{}), 1)
}

func TestCrawlLimit(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	p.ok(t, discovered(info("", "q", "1")), discovered(info("", "q", "2")), discovered(info("", "q", "3")))
	limit := func(n uint32) {
		_, err := p.SetCrawlLimit(t.Context(), &pb.CrawlLimitParams{Key: "q", Limit: n})
		require.NoError(t, err)
	}
	limit(2)
	require.Equal(t, []string{"1"}, p.get(t, &pb.GetParams{MaxUrlsPerQueue: 1}))
	p.ok(t, known(info("", "q", "1"), 0), known(info("", "q", "2"), 0))
	require.Empty(t, p.get(t, &pb.GetParams{}))
	limit(0)
	require.Equal(t, []string{"3"}, p.get(t, &pb.GetParams{}))
}

// Queues take turns, and none gives more than it may.
func TestTurns(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	for _, q := range []string{"a", "b", "c"} {
		for _, u := range []string{"1", "2", "3", "4", "5"} {
			p.ok(t, discovered(info("", q, q+u)))
		}
	}
	two := &pb.GetParams{MaxQueues: 2, MaxUrlsPerQueue: 2}
	require.Equal(t, []string{"a1", "a2", "b1", "b2"}, p.get(t, two))
	require.Equal(t, []string{"c1", "c2", "a3", "a4"}, p.get(t, two))
	require.Equal(t, []string{"b3", "b4", "c3", "c4"}, p.get(t, two))
	require.Equal(t, []string{"a5", "b5", "c5"}, p.get(t, &pb.GetParams{}))
}

// A client that has a budget gets no more.
func TestBudget(t *testing.T) {
	t.Parallel()
	p := newPeer(t, func(c *frontier.Config) { c.PerSecond = 2 })
	for _, u := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"} {
		p.ok(t, discovered(info("", "q", u)))
	}
	require.Empty(t, p.get(t, &pb.GetParams{}))
	p.clock.pass(time.Second)
	require.Len(t, p.get(t, &pb.GetParams{MaxUrlsPerQueue: 1}), 1)
	require.Len(t, p.get(t, &pb.GetParams{}), 1, "what was not given is left")
	require.Empty(t, p.get(t, &pb.GetParams{}))
	p.clock.pass(1500 * time.Millisecond)
	require.Len(t, p.get(t, &pb.GetParams{}), 3)
}
