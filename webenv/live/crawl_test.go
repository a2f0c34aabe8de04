package live_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/webenv"
	"github.com/recrawl/recrawl/webenv/internal/webtest"
	"github.com/recrawl/recrawl/webenv/live"
	"github.com/recrawl/recrawl/webenv/serve"
)

var _ live.Learner[string] = (*knapsack.Keyed[string])(nil)

// misbehaviours are the faults of page i, by turns. The first noisy ones have to be learnt.
var misbehaviours = [15]serve.Faults{
	{Nonce: true}, {Clock: true}, {Advertisements: 5},
	{}, {Backends: 3}, {FreshDate: true}, {StuckDate: true}, {Gzip: true}, {Session: true},
	{Unavailable: 0.5}, {Silent: 0.5}, {Cut: 0.5}, {Slow: time.Minute}, {Busy: 300}, {Dying: 500},
}

const noisy = 3

// served is what the server knows that it answered to a poll.
type served struct {
	requests int // some are sent again by net/http
	status   int
	aborted  bool
	version  int // of the copy, 0 if there was none
}

// witness writes down what a handler answers.
type witness struct {
	http.Handler
	mu    sync.Mutex
	polls map[string]served
}

var versions = regexp.MustCompile(`<p>Version (\d+)\.</p>`)

func (w *witness) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	seen := &copying{ResponseWriter: rw, status: http.StatusOK}
	aborted := true
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		s := w.polls[r.Header.Get("X-Poll")]
		if seen.status == http.StatusFound { // to a session
			return
		}
		s.requests, s.status, s.aborted = s.requests+1, seen.status, aborted
		body := io.Reader(&seen.body)
		if seen.Header().Get("Content-Encoding") == "gzip" && seen.body.Len() > 0 {
			body, _ = gzip.NewReader(body)
		}
		if text, _ := io.ReadAll(body); seen.status == http.StatusOK && !aborted {
			s.version, _ = strconv.Atoi(string(versions.FindSubmatch(text)[1]))
		}
		w.polls[r.Header.Get("X-Poll")] = s
	}()
	w.Handler.ServeHTTP(seen, r)
	aborted = false
}

// copying keeps what is written.
type copying struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (c *copying) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *copying) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

func (c *copying) Write(b []byte) (int, error) {
	c.body.Write(b)
	return c.ResponseWriter.Write(b)
}

// told is what the crawler was told of a poll.
type told struct {
	live.Poll
	id   string
	lost bool // it came too late: the crawler had been saved
}

// crawl is a crawler of many workers.
type crawl struct {
	pages  *knapsack.Keyed[string]
	client *http.Client
	now    func() time.Time // each call takes a second
	next   *atomic.Int64    // id of a poll

	mu  sync.Mutex
	log map[string][]told // by page
}

func newCrawl(t *testing.T, before *crawl, now func() time.Time, peek func() time.Time) *crawl {
	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	require.NoError(t, err)
	c := &crawl{pages: knapsack.NewKeyed[string](filter), now: now, log: map[string][]told{}, next: new(atomic.Int64)}
	transport := &live.Transport{Base: &http.Transport{MaxIdleConnsPerHost: 32}, Now: peek}
	c.client = &http.Client{Transport: transport}
	t.Cleanup(transport.CloseIdleConnections)
	if before != nil {
		pages, err := before.pages.MarshalBinary()
		require.NoError(t, err)
		require.NoError(t, c.pages.UnmarshalBinary(pages))
		copies, err := before.client.Transport.(*live.Transport).MarshalBinary()
		require.NoError(t, err)
		require.NoError(t, transport.UnmarshalBinary(copies))
		c.log, c.next = before.log, before.next
	}
	return c
}

// fetch polls a page.
func (c *crawl) fetch(url string) (poll live.Poll, id string) {
	id = strconv.FormatInt(c.next.Add(1), 10)
	ctx, fetch := live.Begin(context.Background(), url)
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return fetch.End(err), id
	}
	r.Header.Set("X-Poll", id)
	resp, err := c.client.Do(r)
	if err == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
	return fetch.End(err), id
}

// work polls until so many polls have been asked for. Each worker then asks once more, and stops
// before it fetches the page.
func (c *crawl) work(asked *atomic.Int64, most int64) error {
	for {
		url, err := c.pages.Next(c.now())
		if errors.Is(err, knapsack.ErrNoPage) {
			runtime.Gosched() // the others, and the time, go on
			continue
		}
		if err != nil || asked.Add(1) > most {
			return err
		}
		poll, id := c.fetch(url)
		c.mu.Lock()
		c.log[url] = append(c.log[url], told{poll, id, false})
		c.mu.Unlock()
		if err := live.Tell(c.pages, url, c.now(), poll); err != nil {
			return err
		}
	}
}

func (c *crawl) run(t *testing.T, workers int, polls int64) {
	var wait sync.WaitGroup
	var asked atomic.Int64
	for range workers {
		wait.Go(func() {
			if err := c.work(&asked, polls); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
}

// Thirty-two workers crawl a web in which everything goes wrong that can. The crawler is saved with
// a poll of each worker in flight, and restored. What it was told is what the server did, poll by
// poll, and no server was asked against its word.
func TestCrawlOfAMisbehavingWeb(t *testing.T) {
	t.Parallel()
	const pages, workers = 180, 32
	const noisyPages = pages * noisy / len(misbehaviours)
	polls := int64(12_000)
	if testing.Short() {
		polls = 3000
	}
	var seconds atomic.Int64
	peek := func() time.Time { return webtest.Year2001.Add(time.Duration(seconds.Load()) * time.Second) }
	now := func() time.Time {
		seconds.Add(1)
		return peek()
	}
	env, err := webenv.NewPoisson(webenv.LogNormalLaw(pages, 1./600, 1, rand.NewPCG(1, 1)), rand.NewPCG(1, 2))
	require.NoError(t, err)
	server, err := serve.New(env, serve.Config{
		Now:      func() float64 { return float64(seconds.Load()) },
		Calendar: webenv.Calendar{Epoch: webtest.Year2001},
		Source:   rand.NewPCG(1, 3),
		Faults:   func(page int) serve.Faults { return misbehaviours[page%len(misbehaviours)] },
		Sleep:    func(context.Context, time.Duration) {},
	})
	require.NoError(t, err)
	seen := &witness{Handler: server, polls: map[string]served{}}
	web := httptest.NewUnstartedServer(seen)
	web.Config.ErrorLog = nil
	web.Start()
	defer web.Close()

	before := newCrawl(t, nil, now, peek)
	for page := range pages {
		before.pages.Add(web.URL + server.URL(page))
	}
	before.run(t, workers, polls/2)
	var lost []string
	for url := range before.pages.InFlight() {
		lost = append(lost, url)
	}
	require.Len(t, lost, workers)
	after := newCrawl(t, before, now, peek)
	for range after.pages.InFlight() {
		t.Fatal("a poll in flight that nobody will answer")
	}
	require.Equal(t, pages, after.pages.Len())
	for _, url := range lost { // their answers come too late
		if page := pageOf(t, url); misbehaviours[page%len(misbehaviours)].Busy == 0 {
			poll, id := before.fetch(url)
			after.log[url] = append(after.log[url], told{poll, id, true})
		}
	}
	after.run(t, workers, polls/2)
	web.Close() // what the last handlers saw is written down after the crawler has its answers

	a := account{}
	for url, log := range after.log {
		a.check(t, pageOf(t, url), log, seen.polls)
	}
	totals := server.Totals()
	require.Equal(t, a.served, serve.Totals{Polls: totals.Polls, NotModified: totals.NotModified, Detected: totals.Detected, Failed: totals.Failed})
	require.Zero(t, totals.Violations)
	require.Positive(t, a.vetoed)
	// Noise is learnt in a few polls a page, also over the restart; bytes would differ at each.
	require.Less(t, a.noise, 3*noisyPages)
	require.Zero(t, a.missed)
}

func pageOf(t *testing.T, url string) int {
	page, err := strconv.Atoi(regexp.MustCompile(`\d+$`).FindString(url))
	require.NoError(t, err)
	return page
}

// An account is what the polls of a crawl come to.
type account struct {
	served        serve.Totals
	vetoed        int
	noise, missed int // false changes of noisy pages, and changes missed
}

// check compares the log of a page with what was served.
func (a *account) check(t *testing.T, page int, log []told, polls map[string]served) {
	fault := misbehaviours[page%len(misbehaviours)]
	known, latest := 0, 1 // versions: of the crawler's copy, of the latest copy served
	for k, p := range log {
		s := polls[p.id]
		fresh := s.status == http.StatusOK && !s.aborted && s.version > latest
		if fresh {
			a.served.Detected++
			latest = s.version
		}
		switch outcome := p.Outcome(); {
		case s.aborted:
			require.Equal(t, live.Failed, outcome)
			a.served.Failed += s.requests
			continue
		case s.status >= 400:
			want := map[int]live.Outcome{404: live.Gone, 429: live.Vetoed, 503: live.Failed}[s.status]
			require.Equal(t, want, outcome)
			require.Equal(t, s.status, p.Status)
			a.served.Failed += s.requests
			if outcome == live.Vetoed {
				a.vetoed++
			}
			continue
		}
		require.NoError(t, p.Err, "page %d, %+v, poll %d", page, fault, k)
		require.Equal(t, s.status, p.Status)
		a.served.Failed += s.requests - 1
		a.served.Polls++
		if s.status == http.StatusNotModified {
			a.served.NotModified++
		}
		if p.lost {
			continue
		}
		require.Equal(t, known == 0, p.First, "page %d, %+v, poll %d", page, fault, k)
		changed := known > 0 && s.version > known
		switch {
		case page%len(misbehaviours) >= noisy:
			require.Equal(t, changed, p.Changed, "page %d, %+v, poll %d: version %d after %d", page, fault, k, s.version, known)
		case p.Changed && !changed:
			a.noise++
		case changed && !p.Changed:
			a.missed++
		}
		known = max(known, s.version)
	}
}
