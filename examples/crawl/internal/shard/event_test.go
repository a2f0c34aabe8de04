package shard

import (
	"context"
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/webenv/live"
)

// unreadable are events whose records could not be read again, or that would fill one.
func unreadable() []Event {
	const url = "http://host0.test/0"
	far := time.Date(2300, 1, 1, 0, 0, 0, 0, time.UTC)
	return []Event{
		{Kind: kinds, URL: url, At: begin},
		{Kind: Add, URL: url, At: begin, Weight: 1e301},
		{Kind: Add, URL: url, At: begin, Weight: math.NaN()},
		{Kind: Add, URL: url, At: begin, Shortest: -1},
		{Kind: Add, URL: url, At: begin, Longest: math.Inf(1)},
		{Kind: Add, URL: url, At: begin, Shortest: 60, Longest: 1},
		{Kind: Add, URL: "http://host0.test/" + strings.Repeat("a", packBytes), At: begin},
		{Kind: Hint, URL: url, At: begin, Source: 64},
		{Kind: Hint, URL: url, At: far},
		{Kind: Limit, URL: "host0.test", At: begin, Seconds: math.Inf(1)},
		{Kind: Polled, URL: url, At: begin, Result: results},
		{Kind: Polled, URL: url, At: begin, Status: 1 << 16},
		{Kind: Polled, URL: url, At: begin, Bytes: -1},
		{Kind: Polled, URL: url, At: begin, Took: -1},
		{Kind: Polled, URL: url, At: begin, Result: Vetoed, Until: far},
		{Kind: Polled, URL: url, At: begin, Copy: make([]byte, packBytes)},
	}
}

// No event is logged that its own decoder would refuse, and all others can be.
func TestCheck(t *testing.T) {
	t.Parallel()
	for _, e := range unreadable() {
		_, err := encode([]Event{e})
		require.ErrorIs(t, err, ErrEvent)
	}
	for _, e := range drawn(1000) {
		require.NoError(t, e.check())
	}
	for _, e := range []Event{
		{Kind: Add, Weight: mostSetting, Shortest: mostSetting, Longest: mostSetting},
		{Kind: Hint, Source: mostSource},
		{Kind: Limit, Seconds: math.MaxFloat64},
		{Kind: Polled, Status: math.MaxUint16, Bytes: mostCount, Took: mostCount, Until: time.Unix(0, math.MaxInt64), At: time.Unix(0, math.MinInt64)},
	} {
		record, err := encode([]Event{e})
		require.NoError(t, err)
		_, err = decode(record)
		require.NoError(t, err)
	}
}

// A records keeps what is appended, until it is told to wait.
type records struct {
	all  [][]byte
	wait bool // for the context
}

func (r *records) Append(ctx context.Context, record []byte) error {
	if r.wait {
		<-ctx.Done()
		return ctx.Err()
	}
	r.all = append(r.all, record)
	return nil
}

func (r *records) Snapshot(ctx context.Context, _ engine.Mark, _ []byte) error {
	if r.wait {
		<-ctx.Done()
	}
	return ctx.Err()
}

func (r *records) Mark() engine.Mark     { return engine.Mark(len(r.all)) }
func (r *records) Lost() <-chan struct{} { return nil }
func (r *records) Sure() bool            { return true }
func (r *records) Held() context.Context { return context.Background() }

// One bad event among others is left out, at the beginning and while the loop runs: what is logged can
// be read, and gives the same state. A poll that cannot be logged does not count as under way for ever.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	s, log, stop := newState(t), &records{}, make(chan struct{})
	l := NewLoop(Config{State: s, Log: log, Clock: clock.NewReal(), Stop: stop, Submit: func(Job) {}, FreeCopies: true})
	good := Event{Kind: Add, URL: "http://host0.test/0", At: begin}
	require.NoError(t, l.Learn(t.Context(), append(unreadable(), good)))
	require.Equal(t, 1, s.Len())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(t.Context()) }()
	var job Job
	require.NoError(t, l.Do(t.Context(), func(*State) { job, _, _ = l.Take(good.URL) }))
	l.Tell(t.Context(), Event{Kind: Polled, ID: job.ID, URL: job.URL, At: begin, Copy: make([]byte, packBytes)})
	for _, e := range unreadable() {
		if e.Kind != Polled {
			l.Tell(t.Context(), e)
		}
	}
	l.Tell(t.Context(), Event{Kind: Limit, URL: "host0.test", At: begin, Seconds: 2})
	require.Eventually(t, func() bool {
		var again, delayed bool
		require.NoError(t, l.Do(t.Context(), func(*State) {
			again, delayed = l.inFlight == 0 && !s.Page(good.URL).taken, s.Host("host0.test").Delay == 2
		}))
		return again && delayed
	}, time.Minute, time.Millisecond)
	close(stop)
	require.NoError(t, <-ended)
	restored := newState(t)
	for _, record := range log.all {
		events, err := decode(record)
		require.NoError(t, err)
		apply(t, restored, events)
	}
	requireSame(t, s, restored)
	data, err := s.MarshalBinary()
	require.NoError(t, err)
	require.NoError(t, newState(t).UnmarshalBinary(data))
}

// A loop that is to stop ends although its log does not take the record, or the snapshot, that it is
// given.
func TestStopsWithoutLog(t *testing.T) {
	t.Parallel()
	add := []Event{{Kind: Add, URL: "http://host0.test/0", At: begin}}
	for name, want := range map[string]error{"record": ErrUnlogged, "snapshot": nil} {
		log, stop := &records{}, make(chan struct{})
		l := NewLoop(Config{State: newState(t), Log: log, Clock: clock.NewReal(), Stop: stop, Submit: func(Job) {}})
		l.farewell, l.lastRecord, l.lastSnapshot = 0, 0, 0
		require.NoError(t, l.Learn(t.Context(), add))
		log.wait = true
		ended := make(chan error, 1)
		go func() { ended <- l.Run(t.Context()) }()
		if want != nil {
			l.Tell(t.Context(), Event{Kind: Polled, URL: add[0].URL, At: begin})
		}
		require.NoError(t, l.Do(t.Context(), func(*State) {}))
		close(stop)
		require.Equal(t, want, <-ended, name)
	}
}

// No Retry-After keeps a page waiting for longer than a week, and what is logged of it is what counts.
func TestRetryAfterIsBounded(t *testing.T) {
	t.Parallel()
	for _, years := range []int{1, 100, 1000} {
		e := Found(Job{URL: "http://host0.test/0"}, fetch.Result{At: begin, Poll: live.Poll{
			Status: http.StatusServiceUnavailable, Err: errNoAnswer, RetryAfter: begin.AddDate(years, 0, 0),
		}})
		require.Equal(t, begin.Add(7*24*time.Hour), e.Until)
		require.NoError(t, e.check())
	}
	e := Found(Job{}, fetch.Result{At: begin, Poll: live.Poll{RetryAfter: begin.Add(time.Hour)}})
	require.Equal(t, begin.Add(time.Hour), e.Until)
	require.True(t, Found(Job{}, fetch.Result{At: begin}).Until.IsZero())
}

// A host whose pages veto one after the other is left alone as a whole, until one of them answers. A
// failure does not end that, and a user's pause is not ended by an answer.
func TestAnswerEndsVeto(t *testing.T) {
	t.Parallel()
	pages := []string{"http://host0.test/0", "http://host0.test/1", "http://host0.test/2", "http://host0.test/ok"}
	began := func() *State {
		s := newState(t)
		for _, url := range pages {
			apply(t, s, []Event{{Kind: Add, URL: url, At: begin}, {Kind: Polled, URL: url, At: begin, Result: First}})
		}
		for i := range fetch.Impatience {
			at := begin.Add(time.Duration(i+1) * time.Second)
			apply(t, s, []Event{{Kind: Polled, URL: pages[i], At: at, Result: Vetoed, Until: at.Add(fetch.LongestRest)}})
		}
		_, err := s.Learner.Next(begin.Add(time.Hour))
		require.Error(t, err, "the host is left alone")
		return s
	}
	answer := Event{Kind: Polled, URL: pages[3], At: begin.Add(2 * time.Hour), Result: Unchanged}
	failure := answer
	failure.Result = Failed

	s := began()
	apply(t, s, []Event{answer})
	got, err := s.Learner.Next(begin.Add(24 * time.Hour))
	require.NoError(t, err)
	require.Equal(t, pages[3], got, "the others stay as they are")

	s = began()
	apply(t, s, []Event{failure})
	_, err = s.Learner.Next(begin.Add(48 * time.Hour))
	require.Error(t, err)
	answer.At = begin.Add(49 * time.Hour)
	apply(t, s, []Event{answer})
	_, err = s.Learner.Next(begin.Add(96 * time.Hour))
	require.NoError(t, err)

	s = began()
	apply(t, s, []Event{{Kind: Pause, URL: "host0.test", On: true, At: begin.Add(time.Hour)}, answer})
	_, err = s.Learner.Next(begin.Add(96 * time.Hour))
	require.Error(t, err)
}

// What a host says to a request that another one's redirect led to it is no word of that other one: the page is
// put off, and the vetoes in a row are those of the host that was asked, with those of its own pages.
func TestVetoesByRedirects(t *testing.T) {
	t.Parallel()
	from, own := "http://from.test/", "http://to.test/"
	s := newState(t)
	for _, url := range []string{from, own, "http://from.test/other"} {
		apply(t, s, []Event{{Kind: Add, URL: url, At: begin}, {Kind: Polled, URL: url, At: begin, Result: First}})
	}
	until := begin.Add(time.Hour)
	res := fetch.Result{At: begin, Elsewhere: "to.test", Poll: live.Poll{Status: http.StatusServiceUnavailable, Err: errNoAnswer, RetryAfter: until}}
	for range fetch.Impatience - 1 {
		e := Found(Job{URL: from, Host: "from.test"}, res)
		require.Equal(t, Failed, e.Result)
		veto, ok := Vetoes(res)
		require.True(t, ok)
		apply(t, s, []Event{e, veto})
	}
	_, rests := s.Host("to.test").Rests(begin)
	require.False(t, rests)
	apply(t, s, []Event{{Kind: Polled, URL: own, At: begin, Result: Vetoed, Until: until}})
	left, rests := s.Host("to.test").Rests(begin)
	require.True(t, rests)
	require.Equal(t, time.Hour, left)

	// Of hosts without pages nothing is kept, and those whose pages wait for first copies rest as others do.
	apply(t, s, []Event{{Kind: Veto, URL: "none.test", Until: until}, {Kind: Add, URL: "http://new.test/", At: begin}})
	require.Nil(t, s.Host("none.test"))
	for range fetch.Impatience {
		apply(t, s, []Event{{Kind: Veto, URL: "new.test", Until: until}})
	}
	_, rests = s.Host("new.test").Rests(begin)
	require.True(t, rests)
	apply(t, s, []Event{{Kind: Polled, URL: "http://new.test/", At: begin, Result: Failed}})

	url, err := s.Learner.Next(begin.Add(59 * time.Minute))
	require.NoError(t, err)
	require.Equal(t, "http://from.test/other", url)
	_, err = s.Learner.Next(begin.Add(59 * time.Minute))
	require.ErrorIs(t, err, knapsack.ErrNoPage)
	_, err = s.Learner.Next(begin.Add(30 * 24 * time.Hour))
	require.NoError(t, err)

	res.Err = fetch.ErrRests // it was not asked
	_, ok := Vetoes(res)
	require.False(t, ok)
	require.Equal(t, until, Found(Job{}, res).Until)
	res.Elsewhere = ""
	_, ok = Vetoes(res)
	require.False(t, ok, "that of the page's own host is the poll's")
}

// That a page which a redirect led to on another host is gone for good says nothing of what the page's own host will
// redirect to the next time.
func TestGoneElsewhere(t *testing.T) {
	t.Parallel()
	const url = "http://from.test/"
	for elsewhere, want := range map[string]Stage{"to.test": Crawled, "": Ended} {
		s := newState(t)
		apply(t, s, []Event{{Kind: Add, URL: url, At: begin}, {Kind: Polled, URL: url, At: begin, Result: First}})
		res := fetch.Result{At: begin, Elsewhere: elsewhere, Poll: live.Poll{Status: http.StatusGone, Err: errNoAnswer}}
		e := Found(Job{URL: url, Host: "from.test"}, res)
		require.Equal(t, http.StatusGone, e.Status)
		apply(t, s, []Event{e})
		require.Equal(t, want, s.Page(url).Stage, elsewhere)
		_, err := s.Learner.Next(begin.Add(30 * 24 * time.Hour))
		require.Equal(t, want == Crawled, err == nil, elsewhere)
	}
}

// A learner that cannot be told of vetoes gives vetoed pages again and again. Where it has no others the loop goes on
// all the same, and polls them when they may be.
func TestOnlyVetoedPages(t *testing.T) {
	t.Parallel()
	uniform, err := knapsack.NewFixed(nil, knapsack.Even, nil)
	require.NoError(t, err)
	rule, err := knapsack.NewAdaptive(0, knapsack.Nutch(1))
	require.NoError(t, err)
	for _, learner := range []knapsack.Learner{uniform, rule} {
		s, now := NewState(learner), clock.NewFast(begin, 10_000)
		jobs := make(chan Job, 100)
		l := NewLoop(Config{State: s, Clock: now, PerSecond: 10, Window: 10, Submit: func(j Job) { jobs <- j }})
		for _, url := range []string{"http://a.test/1", "http://a.test/2", "http://a.test/3"} {
			apply(t, s, []Event{
				{Kind: Add, URL: url, At: begin}, {Kind: Polled, URL: url, At: begin, Result: First},
				{Kind: Polled, URL: url, At: begin, Result: Vetoed, Until: begin.Add(time.Hour)},
			})
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- l.Run(ctx) }()
		select {
		case <-jobs:
			require.False(t, now.Now().Before(begin.Add(time.Hour)))
		case <-time.After(time.Minute):
			t.Errorf("%T: nothing is polled any more", learner)
		}
		cancel()
		select {
		case err := <-ended:
			require.ErrorIs(t, err, context.Canceled)
		case <-time.After(time.Minute):
			t.Fatalf("%T: the loop does not end", learner)
		}
	}
}
