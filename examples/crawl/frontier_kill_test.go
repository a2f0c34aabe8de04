package main

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	pb "github.com/recrawl/recrawl/examples/crawl/internal/frontier/urlfrontierpb"
	"github.com/recrawl/recrawl/examples/crawl/internal/testnet"
)

// A fetcher is a client of a frontier that keeps an account of what it was told.
type fetcher struct {
	client pb.URLFrontierClient

	mu    sync.Mutex
	sent  int
	acked map[string]bool   // URLs that were found, and acknowledged
	back  map[string]uint64 // dates of URLs that were put back, and acknowledged
	given map[string]int    // times that a URL was given
}

// farOff is when a URL is wanted that is to be given again: long after the test.
const farOff = 4e9

// dateOf returns the date with which a URL is put back: never, or far off.
func dateOf(url string) uint64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(url))
	return uint64(h.Sum32()%2) * farOff
}

// find puts URLs until the server is gone.
func (f *fetcher) find(ctx context.Context) {
	stream, err := f.client.PutURLs(ctx, grpc.WaitForReady(true))
	if err != nil {
		return
	}
	var wait sync.WaitGroup
	defer wait.Wait()
	wait.Go(func() {
		for {
			f.mu.Lock()
			f.sent++
			n := f.sent
			f.mu.Unlock()
			if n%50 == 0 { // as fast as the other client takes them, about
				time.Sleep(time.Millisecond)
			}
			info := &pb.URLInfo{Url: fmt.Sprintf("http://host%d.test/%d", n%50, n)}
			if stream.Send(&pb.URLItem{Item: &pb.URLItem_Discovered{Discovered: &pb.DiscoveredURLItem{Info: info}}}) != nil {
				return
			}
		}
	})
	f.note(stream, func(url string) { f.acked[url] = true })
}

// note notes what is acknowledged until the server is gone.
func (f *fetcher) note(stream pb.URLFrontier_PutURLsClient, ok func(url string)) {
	for {
		ack, err := stream.Recv()
		if err != nil {
			return
		}
		if ack.Status == pb.AckMessage_OK {
			f.mu.Lock()
			ok(ack.ID)
			f.mu.Unlock()
		}
	}
}

// fetch gets URLs and puts them back until the server is gone.
func (f *fetcher) fetch(ctx context.Context) {
	stream, err := f.client.PutURLs(ctx, grpc.WaitForReady(true))
	if err != nil {
		return
	}
	var wait sync.WaitGroup
	defer wait.Wait()
	wait.Go(func() { f.note(stream, func(url string) { f.back[url] = dateOf(url) }) })
	for {
		urls, err := f.client.GetURLs(ctx, &pb.GetParams{MaxQueues: 7, MaxUrlsPerQueue: 3, DelayRequestable: 1e6})
		if err != nil {
			return
		}
		for {
			info, err := urls.Recv()
			if err != nil {
				break
			}
			f.mu.Lock()
			f.given[info.Url]++
			f.mu.Unlock()
			info.Metadata = map[string]*pb.StringList{"signature": {Values: []string{"1"}}}
			known := &pb.KnownURLItem{Info: info, RefetchableFromDate: dateOf(info.Url)}
			if stream.Send(&pb.URLItem{Item: &pb.URLItem_Known{Known: known}}) != nil {
				return
			}
		}
	}
}

// A frontier is killed at random moments, while clients put and get. What it acknowledged is there,
// and no URL is given twice. The long form:
//
//	go test ./examples/crawl -run TestFrontierKill -v -kills 20
func TestFrontierKill(t *testing.T) {
	t.Parallel()
	address := testnet.FreeAddress(t)
	state := filepath.Join(t.TempDir(), "state")
	rng := rand.New(rand.NewPCG(2, uint64(*kills)))
	f := &fetcher{acked: map[string]bool{}, back: map[string]uint64{}, given: map[string]int{}}
	for k := 0; ; k++ {
		var output output
		cmd := start(t, &output, "-frontier", address, "-state", state)
		conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		f.client = pb.NewURLFrontierClient(conn)
		if k == *kills {
			f.audit(t)
			require.NoError(t, conn.Close())
			require.NoError(t, cmd.Process.Kill())
			return
		}
		ctx, cancel := context.WithCancel(t.Context())
		goal := len(f.back) + 300
		var wait sync.WaitGroup
		wait.Go(func() { f.find(ctx) })
		wait.Go(func() { f.fetch(ctx) })
		waitFor(t, &output, func() bool {
			f.mu.Lock()
			defer f.mu.Unlock()
			return len(f.back) >= goal
		})
		time.Sleep(time.Duration(rng.IntN(50)) * time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
		cancel()
		wait.Wait()
		require.NoError(t, conn.Close())
	}
}

func (f *fetcher) audit(t *testing.T) {
	urls, err := f.client.ListURLs(t.Context(), &pb.ListUrlParams{Size: 1<<31 - 1}, grpc.WaitForReady(true))
	require.NoError(t, err)
	dates := map[string]uint64{}
	for {
		item, err := urls.Recv()
		if err != nil {
			break
		}
		dates[item.GetKnown().Info.Url] = item.GetKnown().RefetchableFromDate
	}
	for url := range f.acked {
		if _, ok := dates[url]; !ok {
			t.Fatalf("acknowledged and lost: %s", url)
		}
	}
	for url, date := range f.back {
		if dates[url] != date {
			t.Fatalf("put back with date %d, and now %d: %s", date, dates[url], url)
		}
	}
	for url, n := range f.given {
		if n > 1 {
			t.Fatalf("given %d times: %s", n, url)
		}
	}
	stats, err := f.client.GetStats(t.Context(), &pb.QueueWithinCrawlParams{})
	require.NoError(t, err)
	t.Logf("%d URLs put, of which %d acknowledged; %d given, of which %d put back and acknowledged; none was lost, none given twice; %d are leased still",
		f.sent, len(f.acked), len(f.given), len(f.back), stats.InProcess)
}
