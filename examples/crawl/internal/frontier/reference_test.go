package frontier_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/recrawl/recrawl/examples/crawl/internal/frontier"
	pb "github.com/recrawl/recrawl/examples/crawl/internal/frontier/urlfrontierpb"
)

// The cases that the tests of the reference (crawler-commons/url-frontier 2.6) are about, in
// words of our own. Those of its service acknowledge a discovered URL that is known by SKIPPED.

const refCrawl = "crawl_id"

// newReference returns a frontier with what those tests begin with.
func newReference(t *testing.T) *peer {
	p := newPeer(t, func(c *frontier.Config) { c.SkipKnown = true })
	hour := p.clock.unix(time.Hour)
	p.ok(t,
		discovered(info(refCrawl, "site", "https://site.test/discovered", "meta", "1")),
		discovered(info(refCrawl, "site", "https://site.test/completed")),
		known(info(refCrawl, "site", "https://site.test/completed", "meta", "2"), 0),
		known(info(refCrawl, "site", "https://site.test/refetch"), hour),
		known(info(refCrawl, "other", "https://site.test/other"), hour),
		known(info(refCrawl, "delete", "https://delete.test/"), hour))
	return p
}

func (p *peer) status(t *testing.T, crawl, key, url string) *pb.URLItem {
	item, err := p.GetURLStatus(t.Context(), &pb.URLStatusRequest{CrawlID: crawl, Key: key, Url: url})
	require.NoError(t, err)
	require.NotNil(t, item.GetKnown())
	require.Equal(t, url, item.GetKnown().Info.Url)
	require.Equal(t, key, item.GetKnown().Info.Key)
	require.Equal(t, crawl, item.GetKnown().Info.CrawlID)
	require.NotZero(t, item.CreationDate)
	return item
}

func (p *peer) count(t *testing.T, c *pb.CountUrlParams) uint64 {
	n, err := p.CountURLs(t.Context(), c)
	require.NoError(t, err)
	return n.Value
}

func TestReferenceService(t *testing.T) {
	t.Parallel()
	p := newReference(t)
	date := func(url string) uint64 { return p.status(t, refCrawl, "site", url).GetKnown().RefetchableFromDate }
	require.NotZero(t, date("https://site.test/discovered"))
	require.Zero(t, date("https://site.test/completed"))
	require.NotZero(t, date("https://site.test/refetch"))
	_, err := p.GetURLStatus(t.Context(), &pb.URLStatusRequest{CrawlID: refCrawl, Key: "site", Url: "https://unknown.test/"})
	require.Equal(t, codes.NotFound, code(err))

	require.Len(t, p.list(t, &pb.ListUrlParams{CrawlID: refCrawl, Size: 100}), 5)
	require.Len(t, p.list(t, &pb.ListUrlParams{CrawlID: refCrawl, Key: "other", Size: 100}), 1)
	require.EqualValues(t, 3, p.count(t, &pb.CountUrlParams{CrawlID: refCrawl, Key: "site"}))
	filter := "COMPLETED"
	for ignore, want := range map[bool]uint64{false: 0, true: 1} {
		require.Equal(t, want, p.count(t, &pb.CountUrlParams{CrawlID: refCrawl, Key: "site", Filter: &filter, IgnoreCase: &ignore}))
	}

	// Known once, known for ever: only a known item changes it.
	for url, n := range map[string]uint64{"https://site.test/completed": 0, "https://site.test/refetch": 2943003600} {
		acks := p.put(t, discovered(info(refCrawl, "site", url, "meta", "3")))
		require.Equal(t, pb.AckMessage_SKIPPED, acks[0].Status)
		before := p.status(t, refCrawl, "site", url)
		require.NotEqual(t, "3", before.GetKnown().Info.Metadata["meta"].GetValues())
		p.ok(t, known(info(refCrawl, "site", url, "meta", "4"), n))
		require.Equal(t, n, date(url))
	}
	gone, err := p.DeleteQueue(t.Context(), &pb.QueueWithinCrawlParams{CrawlID: refCrawl, Key: "delete"})
	require.NoError(t, err)
	require.EqualValues(t, 1, gone.Value)
	require.EqualValues(t, 4, p.count(t, &pb.CountUrlParams{CrawlID: refCrawl}))

	// Queues and all come back, and those that were deleted do not.
	p.restart(t)
	require.EqualValues(t, 2, p.stats(t, refCrawl, "").NumberOfQueues)
	require.EqualValues(t, 4, p.count(t, &pb.CountUrlParams{CrawlID: refCrawl}))
}

func TestReferenceCreationDates(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	created := func(crawl, key string) uint64 { return p.status(t, crawl, key, "u").CreationDate }
	p.ok(t, discovered(info("a", "q", "u")), discovered(info("b", "q", "u")), discovered(info("a", "r", "u")))
	first := created("a", "q")
	p.clock.pass(2 * time.Second)
	p.ok(t, known(info("a", "q", "u"), p.clock.unix(time.Hour)))
	require.Equal(t, first, created("a", "q"))
	p.ok(t, known(info("a", "q", "u"), 0))
	require.Equal(t, first, created("a", "q"))
	_, err := p.DeleteQueue(t.Context(), &pb.QueueWithinCrawlParams{CrawlID: "a", Key: "q"})
	require.NoError(t, err)
	require.Equal(t, first, created("b", "q"))
	require.Equal(t, first, created("a", "r"))
}

// The tests that the reference runs against a server at an address.
func TestReferenceWire(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	ctx := t.Context()
	clear := func() {
		for _, crawl := range []string{"BESPOKE", ""} {
			_, err := p.DeleteCrawl(ctx, &pb.DeleteCrawlMessage{Value: crawl})
			require.NoError(t, err)
		}
	}
	key := inCrawl("DEFAULT", &pb.GetParams{Key: "key1.com", MaxUrlsPerQueue: 1, DelayRequestable: 2})

	clear()
	p.ok(t, known(info("", "key1.com", "http://key1.com/"), 0))
	require.Empty(t, p.get(t, key))

	clear()
	p.ok(t, known(info("", "key1.com", "http://key1.com/later"), p.clock.unix(0)),
		known(info("", "key1.com", "http://key1.com/sooner"), p.clock.unix(-10000*time.Second)))
	require.Equal(t, []string{"http://key1.com/sooner"}, p.get(t, key))

	clear()
	require.Len(t, p.put(t, discovered(info("", "key1.com", "http://key1.com/")), discovered(info("", "key1.com", "http://key1.com/"))), 2)
	queues, err := p.ListQueues(ctx, &pb.Pagination{})
	require.NoError(t, err)
	require.Len(t, queues.Values, 1)
	require.Equal(t, []string{"http://key1.com/"}, p.get(t, key))
	require.EqualValues(t, 1, p.stats(t, "", "key1.com").InProcess)
	require.Empty(t, p.get(t, key))
	p.clock.pass(2 * time.Second)
	require.Zero(t, p.stats(t, "", "key1.com").InProcess)
	require.EqualValues(t, 1, p.stats(t, "", "key1.com").NumberOfQueues)
	gone, err := p.DeleteQueue(ctx, &pb.QueueWithinCrawlParams{Key: "key1.com"})
	require.NoError(t, err)
	require.EqualValues(t, 1, gone.Value)
	require.Zero(t, p.stats(t, "", "key1.com").NumberOfQueues)

	clear()
	crawls, err := p.ListCrawls(ctx, &pb.Local{})
	require.NoError(t, err)
	require.Empty(t, crawls.Values)
	for _, crawl := range []string{"BESPOKE", "", "DEFAULT"} {
		require.Len(t, p.put(t, discovered(info(crawl, "", "http://urlfrontier.net/"))), 1)
	}
	for _, crawl := range []string{"DEFAULT", "BESPOKE"} {
		s := p.stats(t, crawl, "")
		require.EqualValues(t, 1, s.Size)
		require.EqualValues(t, 1, s.NumberOfQueues)
		require.Equal(t, crawl, s.CrawlID)
	}
	clear()
	require.Zero(t, p.stats(t, "BESPOKE", "").Size)
	require.Zero(t, p.stats(t, "", "").Size)
}

// What a dump holds can be put back.
func TestReferenceDump(t *testing.T) {
	t.Parallel()
	p := newPeer(t, nil)
	var items []*pb.URLItem
	for i := range 20 {
		items = append(items, discovered(info("", "", fmt.Sprintf("http://site%d.test/%d", i%10, i), "source", "seed")))
	}
	later := p.clock.unix(time.Hour)
	items = append(items, known(info("BESPOKE", "", "http://bespoke.test/done"), 0), known(info("BESPOKE", "", "http://bespoke.test/later"), later))
	p.ok(t, items...)
	var dump []*pb.URLItem
	for _, crawl := range []string{"DEFAULT", "BESPOKE"} {
		queues, err := p.ListQueues(t.Context(), &pb.Pagination{CrawlID: crawl, IncludeInactive: true, Size: 10_000})
		require.NoError(t, err)
		whole := p.list(t, &pb.ListUrlParams{CrawlID: crawl, Size: 1<<31 - 1})
		n := len(dump)
		for _, q := range queues.Values {
			dump = append(dump, p.list(t, &pb.ListUrlParams{CrawlID: crawl, Key: q, Size: 1<<31 - 1})...)
		}
		require.Len(t, whole, len(dump)-n)
		_, err = p.DeleteCrawl(t.Context(), &pb.DeleteCrawlMessage{Value: crawl})
		require.NoError(t, err)
	}
	require.Len(t, dump, 22)
	p.ok(t, dump...)
	require.Zero(t, p.status(t, "BESPOKE", "bespoke.test", "http://bespoke.test/done").GetKnown().RefetchableFromDate)
	require.Equal(t, later, p.status(t, "BESPOKE", "bespoke.test", "http://bespoke.test/later").GetKnown().RefetchableFromDate)
	require.Equal(t, "seed", p.status(t, "DEFAULT", "site3.test", "http://site3.test/13").GetKnown().Info.Metadata["source"].Values[0])
	require.EqualValues(t, 20, p.count(t, &pb.CountUrlParams{}))
	require.Len(t, p.get(t, inCrawl("", &pb.GetParams{})), 20)
}
