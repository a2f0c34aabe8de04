package relay

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/examples/crawl/internal/testnet"
)

var (
	fastestRuns  = flag.Int("fastest-runs", 1, "webs that TestFastest draws; 5 in the long form")
	fastestPolls = flag.Int("fastest-polls", 40, "polls of a host; 200 in the long form")
)

// A world is a web whose hosts are near to one of some nodes and far from the others.
type world struct {
	web    testnet.Web
	clock  *simulated
	nearTo []int // of each host
}

const (
	nodes    = 3
	allHosts = 48
	near     = 100 * time.Millisecond
	far      = 600 * time.Millisecond
)

// A simulated clock goes on while a request is on its way.
type simulated struct {
	mu  sync.Mutex
	now time.Time
}

func (s *simulated) Now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *simulated) Sleep(_ context.Context, d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(max(d, 0))
}

func (s *simulated) Real(time.Duration) time.Duration { return 0 }

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	w := &world{web: testnet.NewWeb(t), clock: &simulated{now: time.Unix(1e9, 0)}}
	rng := rand.New(rand.NewPCG(seed, 6))
	for range allHosts {
		w.nearTo = append(w.nearTo, rng.IntN(nodes))
	}
	return w
}

// A place is a node's own way to the web, with the time that it takes: ± half.
type place struct {
	*world
	node int
	to   *http.Transport

	mu   sync.Mutex
	rng  *rand.Rand
	used map[int]int // requests for pages, by hosts
}

func (w *world) place(node int, seed uint64) *place {
	return &place{world: w, node: node, to: w.web.Transport(), rng: rand.New(rand.NewPCG(seed, uint64(node))), used: map[int]int{}}
}

func (p *place) RoundTrip(r *http.Request) (*http.Response, error) {
	var host int
	_, _ = fmt.Sscanf(r.URL.Host, "host%d.test", &host)
	takes := far
	if p.nearTo[host] == p.node {
		takes = near
	}
	p.mu.Lock()
	takes = time.Duration((0.5 + p.rng.Float64()) * float64(takes))
	if r.URL.Path != "/robots.txt" {
		p.used[host]++
	}
	p.mu.Unlock()
	p.clock.Sleep(r.Context(), takes)
	return p.to.RoundTrip(r)
}

// taken returns the share of the requests for pages of the places that were sent by the node that is
// near, and how many there were.
func taken(places []*place) (share float64, polls int) {
	nearest := 0
	for _, p := range places {
		p.mu.Lock()
		for host, n := range p.used {
			polls += n
			if p.nearTo[host] == p.node {
				nearest += n
			}
		}
		clear(p.used)
		p.mu.Unlock()
	}
	return float64(nearest) / float64(polls), polls
}

// crawl polls all hosts so many times, and returns the mean time of a poll and how many failed.
func crawl(t *testing.T, f *fetch.Fetcher, polls int) (mean time.Duration, failed int) {
	t.Helper()
	for range polls {
		for host := range allHosts {
			res := f.Poll(t.Context(), 1, fmt.Sprintf("http://host%d.test/", host), nil)
			mean += res.Duration
			if res.Err != nil {
				failed++
			}
		}
	}
	return mean / time.Duration(polls*allHosts), failed
}

// Three nodes in simulated time, to each of which a third of the hosts is near. One of them crawls all: by itself, by
// the relays of the others, too, and after one of these has died. The long form:
//
//	go test ./examples/crawl/internal/relay -run TestFastest -v -fastest-runs 5 -fastest-polls 200
func TestFastest(t *testing.T) {
	for seed := range uint64(*fastestRuns) {
		w := newWorld(t, seed+1)
		var b board
		id := newMember(t, &b)
		var places []*place
		var relays []*node
		var offers []fetch.Point
		for i := range nodes {
			p := w.place(i, seed)
			places = append(places, p)
			if i > 0 {
				n := newNode(t, &b, p, 0)
				relays = append(relays, n)
				offers = append(offers, fetch.Point{Name: fmt.Sprint("node ", i), Base: n.peer(t, id)})
			}
		}
		f, err := fetch.New(fetch.Config{
			UserAgent: "test (+http://test.test)", Clock: w.clock, Points: []fetch.Point{{Name: "node 0", Base: places[0]}}, Seed: seed,
		})
		require.NoError(t, err)
		alone, failed := crawl(t, f, max(*fastestPolls/4, 1))
		require.Zero(t, failed)
		share, _ := taken(places)
		t.Logf("seed %d, alone: %.1f %% by the near node, a poll takes %.1f ms", seed, 100*share, ms(alone))
		require.Less(t, share, 0.5)

		require.NoError(t, f.Offer(offers))
		first, failed := crawl(t, f, *fastestPolls/4)
		require.Zero(t, failed)
		share, _ = taken(places)
		t.Logf("with relays, the first quarter: %.1f %%, %.1f ms", 100*share, ms(first))
		later, failed := crawl(t, f, *fastestPolls)
		require.Zero(t, failed)
		share, _ = taken(places)
		t.Logf("then: %.1f %%, %.1f ms, %.2f of alone", 100*share, ms(later), float64(later)/float64(alone))
		require.Greater(t, share, 0.85)
		require.Less(t, later, alone*2/3)

		// The relay is gone, and nobody has said so yet.
		require.NoError(t, relays[0].server.http.Close())
		_, failed = crawl(t, f, 5)
		without, more := crawl(t, f, *fastestPolls)
		_, polls := taken(places)
		t.Logf("one is dead: %d of %d polls failed, and %d later; %.1f ms", failed, polls, more, ms(without))
		require.LessOrEqual(t, failed, 3)
		require.Zero(t, more)
		// Then the board says so.
		require.NoError(t, f.Offer(offers[1:]))
		without, failed = crawl(t, f, *fastestPolls/2)
		require.Zero(t, failed)
		t.Logf("and known to be: %.1f ms", ms(without))
	}
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }
