package frontier_test

import (
	"flag"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	pb "github.com/recrawl/recrawl/examples/crawl/internal/frontier/urlfrontierpb"
)

var scale = flag.Int("scale", 0, "URLs for TestScale; 0 for none")

// So many URLs are put and got, put back and got again, by four clients at a time:
//
//	go test ./examples/crawl/internal/frontier -run TestScale -v -scale 1000000 -timeout 1h
func TestScale(t *testing.T) {
	if *scale == 0 {
		t.Skip("-scale 1000000")
	}
	for _, queues := range []int{*scale / 10, 1} {
		t.Run(fmt.Sprint(queues, " queues"), func(t *testing.T) {
			n, p := *scale, newPeer(t, nil)
			item := func(i int) *pb.URLInfo {
				return info("", fmt.Sprintf("host%d.test", i%queues), fmt.Sprintf("http://host%d.test/a/path/%d", i%queues, i), "depth", "3", "signature", fmt.Sprint("d41d8cd98f00b204e9800998ecf8427e", i))
			}
			rate := func(what string, do func()) {
				began, cpu := time.Now(), processTime()
				do()
				took, spent := time.Since(began), processTime()-cpu
				t.Logf("%-36s %7.0f/s, %.1f µs of processor time each", what, float64(n)/took.Seconds(), float64(spent.Microseconds())/float64(n))
			}
			const clients = 4
			four := func(do func(client int)) {
				var wait sync.WaitGroup
				for c := range clients {
					wait.Go(func() { do(c) })
				}
				wait.Wait()
			}
			rate("PutDiscovered, batches of 100", func() {
				four(func(c int) { p.putBatches(t, c*n/clients, (c+1)*n/clients, item) })
			})
			require.EqualValues(t, n, p.stats(t, "", "").Size)
			rate("PutURLs, known already", func() {
				four(func(c int) {
					p.putAll(t, c*n/clients, (c+1)*n/clients, func(i int) *pb.URLItem { return discovered(item(i)) })
				})
			})
			get := func() {
				var mu sync.Mutex
				got := 0
				four(func(int) {
					for {
						k := len(p.infos(t, &pb.GetParams{MaxQueues: 100, MaxUrlsPerQueue: 10, DelayRequestable: 1e6}))
						mu.Lock()
						got += k
						mu.Unlock()
						if k == 0 {
							return
						}
					}
				})
				require.Equal(t, n, got)
			}
			back := func() {
				four(func(c int) {
					p.putAll(t, c*n/clients, (c+1)*n/clients, func(i int) *pb.URLItem { return known(item(i), p.clock.unix(0)) })
				})
			}
			rate("GetURLs, 100 queues of 10", get)
			rate("PutURLs, a first copy", back)
			p.clock.pass(time.Hour)
			rate("GetURLs of learnt ones", get)
			rate("PutURLs, answers", back)
			p.clock.pass(time.Hour)
			rate("GetURLs in the learnt order", get)

			p.restart(t) // with no other snapshot under way
			cpu := processTime()
			another := p.cfg.State.Fresh()
			require.NoError(t, p.log.Replay(t.Context(), p.log.Mark(), another.UnmarshalBinary, func([]byte) error { return nil }))
			state, err := another.MarshalBinary()
			require.NoError(t, err)
			cpu = processTime() - cpu
			size, both := len(state), memory()
			runtime.KeepAlive(another)
			runtime.KeepAlive(state)
			another, state = nil, nil
			t.Logf("%d bytes of memory a URL, and as many for the time that a snapshot is made; that has %d bytes a URL, and takes %v of processor time and what the events since the one before took",
				(both-size-memory())/n, size/n, cpu.Round(time.Millisecond))
			began := time.Now()
			cpu = processTime()
			p.restart(t)
			require.EqualValues(t, n, p.stats(t, "", "").Size)
			t.Logf("stopped and started again in %v, %v of processor time", time.Since(began).Round(time.Millisecond), (processTime() - cpu).Round(time.Millisecond))
			began = time.Now()
			gone, err := p.DeleteCrawl(t.Context(), &pb.DeleteCrawlMessage{})
			require.NoError(t, err)
			require.EqualValues(t, n, gone.Value)
			t.Logf("all deleted in %v", time.Since(began).Round(time.Millisecond))
		})
	}
}

// memory returns what is in use, but for what pools keep over one collection.
func memory() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}

// putAll puts items on one stream without waiting for each.
func (p *peer) putAll(t testing.TB, from, to int, item func(i int) *pb.URLItem) {
	stream, err := p.PutURLs(t.Context())
	require.NoError(t, err)
	go func() {
		for i := from; i < to; i++ {
			if stream.Send(item(i)) != nil {
				return
			}
		}
		_ = stream.CloseSend()
	}()
	for range to - from {
		ack, err := stream.Recv()
		require.NoError(t, err)
		require.Equal(t, pb.AckMessage_OK, ack.Status)
	}
}

// putBatches puts discovered URLs in batches of 100.
func (p *peer) putBatches(t testing.TB, from, to int, item func(i int) *pb.URLInfo) {
	stream, err := p.PutDiscovered(t.Context())
	require.NoError(t, err)
	go func() {
		for i := from; i < to; i += 100 {
			b := &pb.DiscoveredBatch{}
			for k := i; k < min(i+100, to); k++ {
				b.Items = append(b.Items, item(k))
			}
			if stream.Send(b) != nil {
				return
			}
		}
		_ = stream.CloseSend()
	}()
	for i := from; i < to; i += 100 {
		ack, err := stream.Recv()
		require.NoError(t, err)
		for _, s := range ack.Statuses {
			require.Equal(t, pb.AckMessage_OK, s)
		}
	}
}
