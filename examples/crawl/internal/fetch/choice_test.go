package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/testnet"
)

// base is a way to the web that says by a function what becomes of a request.
type base func(*http.Request) (*http.Response, error)

func (b base) RoundTrip(r *http.Request) (*http.Response, error) { return b(r) }

func named(names ...string) (points []Point) {
	for _, name := range names {
		points = append(points, Point{Name: name})
	}
	return points
}

// fetches lets hosts be fetched so many times each, the fastest from the point that best names, and
// returns how often that was used.
func fetches(t *testing.T, p *points, rounds int, best map[string]string) (used int) {
	t.Helper()
	hosts := make([]string, 0, len(best))
	for host := range best {
		hosts = append(hosts, host)
	}
	slices.Sort(hosts)
	for range rounds {
		for _, host := range hosts {
			way, err := p.next(host)
			require.NoError(t, err)
			took := 500 * time.Millisecond
			if way.Name == best[host] {
				took = 100 * time.Millisecond
				used++
			}
			require.NoError(t, p.took(host, way, took))
		}
	}
	return used
}

var best = map[string]string{"a.test": "one", "b.test": "two", "c.test": "three", "d.test": "three"}

// What was learnt of the access points is there after a restart, also of those that are not offered
// at once; and the choices are those that would have been made.
func TestChoiceIsSaved(t *testing.T) {
	t.Parallel()
	begin := func() *Fetcher {
		f := &Fetcher{points: newPoints(named("one"), nil, 1)}
		require.NoError(t, f.Offer(named("two", "three")))
		return f
	}
	f := begin()
	fetches(t, f.points, 50, best)
	saved, err := f.Saved(0)
	require.NoError(t, err)
	again := begin()
	require.NoError(t, again.Open(0, saved))
	same, err := again.Saved(0)
	require.NoError(t, err)
	require.Equal(t, saved, same)
	require.Equal(t, fetches(t, f.points, 50, best), fetches(t, again.points, 50, best))
	// One that comes later is known then.
	late := &Fetcher{points: newPoints(named("one"), nil, 1)}
	require.NoError(t, late.Open(0, saved))
	require.Zero(t, fetches(t, late.points, 3, map[string]string{"b.test": "two", "d.test": "three"}))
	require.NoError(t, late.Offer(named("three", "two")))
	require.Greater(t, fetches(t, late.points, 20, map[string]string{"b.test": "two"}), 15)
	// What is damaged is refused, and all is learnt anew.
	for i := range saved {
		damaged := slices.Clone(saved)
		damaged[i] ^= 1
		require.Error(t, late.Open(0, damaged))
		require.Error(t, late.Open(0, saved[:max(i, 1)]), "%d", i)
	}
	require.NoError(t, late.Offer(named("two")))
	require.Greater(t, fetches(t, late.points, 20, map[string]string{"b.test": "two"}), 10)
	// A part that is closed is forgotten.
	late.Close(0)
	nothing, err := late.Saved(0)
	require.NoError(t, err)
	require.Empty(t, nothing)
}

// Hosts that come and go leave nothing behind but what is kept of their robots.txt, which is bounded.
func TestHostsGo(t *testing.T) {
	t.Parallel()
	f := &Fetcher{points: newPoints(named("one"), nil, 1)}
	f.robots = newRobots("my-bot/1", clock.NewReal(), func(context.Context, string) (robotsAnswer, error) {
		return robotsAnswer{status: http.StatusNotFound}, nil
	})
	require.NoError(t, f.Offer(named("two")))
	const hosts = 50
	var sizes [hosts]int
	for i := range hosts {
		host := fmt.Sprintf("host%02d.test", i)
		fetches(t, f.points, 3, map[string]string{host: "two"})
		_, _, err := f.robots.of(t.Context(), siteOf("https", host), false)
		require.NoError(t, err)
		under, err := f.points.next(host) // a poll is under way when the host goes
		require.NoError(t, err)
		f.Vacated(host)
		require.NoError(t, f.points.took(host, under, time.Second))
		require.Equal(t, (i+1)*passingSite, f.robots.passing)
		saved, err := f.Saved(0)
		require.NoError(t, err)
		sizes[i] = len(saved)
	}
	require.Equal(t, sizes[0], sizes[hosts-1])
	f.Vacated("unknown.test")
}

// A point that is not offered any more gets no request, what was learnt of it counts when it is back
// soon, and after an hour it is forgotten.
func TestPointsComeAndGo(t *testing.T) {
	t.Parallel()
	c := newChoice(1, 0)
	p := newPoints(named("one"), nil, 1)
	p.choices[0] = c
	now := time.Now()
	require.NoError(t, c.offer(named("one", "two", "three"), now))
	fetches(t, p, 50, best)
	pending, err := p.next("c.test")
	require.NoError(t, err)
	require.NoError(t, c.offer(named("one", "two"), now))
	require.NoError(t, p.took("c.test", pending, time.Second))
	require.Zero(t, fetches(t, p, 50, map[string]string{"c.test": "three", "d.test": "three"}))
	require.Greater(t, fetches(t, p, 50, map[string]string{"c.test": "two"}), 35) // the best of those left
	require.NoError(t, c.offer(named("one", "two", "three"), now.Add(time.Minute)))
	require.Greater(t, fetches(t, p, 10, map[string]string{"d.test": "three"}), 7)
	require.NoError(t, c.offer(named("one", "two"), now.Add(2*time.Minute)))
	require.Len(t, c.arms, 3)
	require.NoError(t, c.offer(named("one", "two"), now.Add(2*time.Minute+2*forgotten)))
	require.Len(t, c.arms, 2)
	require.Zero(t, fetches(t, p, 50, map[string]string{"d.test": "three"}))
}

// Each part uses some of many machines, others than other parts, and goes on with most of them when
// one goes.
func TestManyOthers(t *testing.T) {
	t.Parallel()
	p := &points{own: named("own")}
	for i := range 20 {
		p.others = append(p.others, Point{Name: string(rune('a' + i))})
	}
	all := map[string]bool{}
	for part := range 16 {
		before := p.ways(part)
		require.Len(t, before, 1+mostOthers)
		require.Equal(t, "own", before[0].Name)
		for _, q := range before {
			all[q.Name] = true
		}
		fewer := &points{own: p.own, others: p.others[1:]}
		kept := 0
		for _, q := range fewer.ways(part) {
			if slices.ContainsFunc(before, func(b Point) bool { return b.Name == q.Name }) {
				kept++
			}
		}
		require.GreaterOrEqual(t, kept, mostOthers)
	}
	require.Greater(t, len(all), 15)
}

// A proxy that refuses at once is not fast.
func TestBrokenPoint(t *testing.T) {
	t.Parallel()
	web := testnet.NewWeb(t)
	broken := Point{Name: "broken", Base: base(func(*http.Request) (*http.Response, error) { return nil, errors.New("refused") })}
	f := newTestFetcher(t, broken, point("works", web))
	failed := 0
	for range 40 {
		if f.Poll(t.Context(), 1, page("a.test"), nil).Err != nil {
			failed++
		}
	}
	require.LessOrEqual(t, failed, 4)
}

// A point that takes no request costs no poll; of one that is lost nobody knows what it does, so
// that the host is left alone for as long as it may.
func TestRefusedAndLost(t *testing.T) {
	t.Parallel()
	web := testnet.NewWeb(t)
	to := web.Transport()
	for _, c := range []struct{ robots, late bool }{{true, false}, {false, false}, {true, true}, {false, true}} {
		var says error
		asked, hold := false, 200*time.Millisecond
		other := Point{Name: "other", Hold: func() time.Duration { return hold }, Base: base(func(r *http.Request) (*http.Response, error) {
			if says != nil && (r.URL.Path == "/robots.txt") == c.robots {
				asked = true
				if c.late && says == ErrLost { // it was stopped
					<-r.Context().Done()
				}
				return nil, says
			}
			return to.RoundTrip(r)
		})}
		f := newTestFetcher(t, point("works", web))
		require.NoError(t, f.Offer([]Point{other}))
		says = ErrRefused
		for range 20 {
			require.NoError(t, f.Poll(t.Context(), 1, page("a.test"), nil).Err)
		}
		says = ErrLost
		if c.late {
			f.cfg.Timeout = 100 * time.Millisecond
		}
		lost := 0
		for i := range 10 { // each with a host of its own, whose robots.txt is to be fetched
			host := string(rune('a'+i)) + ".many.test"
			began := time.Now()
			asked = false
			err := f.Poll(t.Context(), 1, page(host), nil).Err
			if !asked {
				continue
			}
			require.ErrorIs(t, err, ErrLost)
			lost++
			was, limit := says, f.cfg.Timeout
			says, f.cfg.Timeout = nil, time.Minute
			require.NoError(t, f.Poll(t.Context(), 1, page(host), nil).Err)
			require.GreaterOrEqual(t, time.Since(began), hold)
			says, f.cfg.Timeout = was, limit
		}
		require.Positive(t, lost)
	}
}

// Another machine that refuses late is not asked first for ever.
func TestRefusalsAreLearnt(t *testing.T) {
	t.Parallel()
	web := testnet.NewWeb(t)
	asked := 0
	other := Point{Name: "other", Base: base(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/robots.txt" {
			return web.Transport().RoundTrip(r)
		}
		asked++
		began := time.Now()
		time.Sleep(100 * time.Millisecond)
		Reached(r.Context(), time.Since(began))
		return nil, ErrRefused
	})}
	rng := rand.New(rand.NewPCG(1, 2))
	works := Point{Name: "works", Base: base(func(r *http.Request) (*http.Response, error) {
		time.Sleep(time.Duration(rng.Int64N(int64(10 * time.Millisecond))))
		return web.Transport().RoundTrip(r)
	})}
	f := newTestFetcher(t, works)
	require.NoError(t, f.Offer([]Point{other}))
	const hosts, polls = 8, 20
	for i := range hosts * polls {
		require.NoError(t, f.Poll(t.Context(), 1, page(string(rune('a'+i%hosts))+".test"), nil).Err)
	}
	require.Positive(t, asked)
	require.Less(t, asked, hosts*polls/3) // nearly all were
}

// A proxy of one's own that is gone costs no poll, whichever of several it is, and rests; when it is
// back it is used again. Where there is no other, polls fail.
func TestProxyIsGone(t *testing.T) {
	t.Parallel()
	web := testnet.NewWeb(t)
	var asked atomic.Int32
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		resp, err := web.Transport().RoundTrip(r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		w.WriteHeader(resp.StatusCode)
		_, _ = io.Copy(w, resp.Body)
	}))
	defer proxy.Close()
	nobody := "http://" + testnet.FreeAddress(t)
	var gone []Point
	for _, text := range []string{nobody, "socks5" + strings.TrimPrefix(nobody, "http")} {
		p, err := ParsePoint(text, false)
		require.NoError(t, err)
		gone = append(gone, p)
	}
	works, err := ParsePoint(proxy.URL, false)
	require.NoError(t, err)
	for _, own := range [][]Point{{gone[0], works}, {works, gone[0]}, {gone[0], gone[1], works}} {
		f := newTestFetcher(t, own...)
		asked.Store(0)
		for i := range 30 {
			require.NoError(t, f.Poll(t.Context(), 1, page(fmt.Sprint(i, ".test")), nil).Err)
		}
		require.EqualValues(t, 60, asked.Load()) // with robots.txt
		require.Len(t, f.points.resting, len(own)-1)
		// After a while each is tried again, and its way is free.
		later := time.Now().Add(2 * pointRest)
		require.NoError(t, f.points.wake(later))
		require.Empty(t, f.points.resting)
		require.Len(t, f.points.choices[0].points, len(own))
	}
	f := newTestFetcher(t, gone...)
	require.Error(t, f.Poll(t.Context(), 1, page("a.test"), nil).Err)
	require.Len(t, f.points.resting, 2)
}

// Addresses of one's own network are none of the others' business.
func TestPublic(t *testing.T) {
	t.Parallel()
	for _, inside := range []string{
		"127.0.0.1:80", "10.1.2.3:80", "192.168.1.1:443", "172.16.0.1:80", "169.254.169.254:80", "0.0.0.0:80", "100.64.1.1:80",
		"224.0.0.1:80", "255.255.255.255:80", "[::1]:80", "[::]:80", "[fe80::1%eth0]:80", "[fd00::1]:80", "[::ffff:127.0.0.1]:80",
		"[64:ff9b::7f00:1]:80", "[2002:7f00:1::]:80", "[2001:0:7f00:1::1]:80", "[::127.0.0.1]:80", "[fec0::1]:80", "[ff02::1]:80", "localhost:80", "",
	} {
		require.ErrorIs(t, public("tcp", inside, nil), ErrInside, inside)
	}
	for _, outside := range []string{"93.184.216.34:80", "[2606:2800:220:1::1]:443", "172.32.0.1:80", "[::ffff:93.184.216.34]:80"} {
		require.NoError(t, public("tcp", outside, nil), outside)
	}
	web := testnet.NewWeb(t)
	for _, text := range []string{"direct", "127.0.0.1"} {
		for _, outside := range []bool{false, true} {
			p, err := ParsePoint(text, outside)
			require.NoError(t, err)
			r, err := http.NewRequest(http.MethodGet, web.URL, nil)
			require.NoError(t, err)
			resp, err := p.Base.RoundTrip(r)
			if outside {
				require.ErrorIs(t, err, ErrInside)
				continue
			}
			require.NoError(t, err)
			resp.Body.Close()
		}
	}
}
