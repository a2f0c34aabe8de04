package shard

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/codec/codectest"
	"github.com/recrawl/recrawl/knapsack"
)

var begin = time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)

func newState(t testing.TB) *State {
	f, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	require.NoError(t, err)
	return NewState(f)
}

// drawn returns events of all kinds about a few pages.
func drawn(n int) (events []Event) {
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range n {
		e := Event{Kind: Kind(rng.IntN(int(kinds))), At: begin.Add(time.Duration(i) * time.Minute)}
		e.URL = fmt.Sprintf("http://host%d.test/%d", rng.IntN(3), rng.IntN(10))
		switch e.Kind {
		case Add:
			e.Weight, e.Shortest, e.Longest = rng.Float64(), 60, 86400
		case Remove:
			if rng.IntN(4) > 0 {
				e.Kind = Polled
			}
		case Hint:
			e.Source = rng.IntN(64)
		case Pause, Limit:
			e.URL, e.On, e.Seconds = HostOf(e.URL), e.Kind == Pause && rng.IntN(2) == 0, 10
			if e.Kind == Pause {
				e.Seconds = 0
			}
		case Veto:
			e.URL, e.Until = HostOf(e.URL), e.At.Add(time.Hour)
		}
		if e.Kind == Polled {
			e.ID, e.Result, e.Status, e.Bytes, e.Took = rng.Uint64(), Result(rng.IntN(int(results))), 200, 1000, time.Second
			if e.Result == Vetoed {
				e.Until = e.At.Add(time.Hour)
			}
			if rng.IntN(2) == 0 {
				e.Copy = []byte{1, 2, byte(i)}
			}
		}
		if e.Kind != Limit {
			e.Seconds = 0
		}
		events = append(events, e)
	}
	return events
}

func apply(t testing.TB, s *State, events []Event) {
	for i := range events {
		require.NoError(t, s.Apply(&events[i]), "event %d: %+v", i, events[i])
	}
}

// requireSame compares all that two states know.
func requireSame(t *testing.T, want, got *State) {
	t.Helper()
	require.Equal(t, want.Totals, got.Totals)
	require.True(t, want.Latest.Equal(got.Latest))
	require.Equal(t, want.Points, got.Points)
	require.Equal(t, want.Learner.Len(), got.Learner.Len())
	require.Equal(t, len(want.hosts), len(got.hosts))
	for name, h := range want.hosts {
		require.Equal(t, h, got.hosts[name])
	}
	require.Equal(t, len(want.pages), len(got.pages))
	for url, p := range want.pages {
		require.Equal(t, p, got.pages[url])
		if p.Stage == Crawled {
			a, err := want.Learner.Export(url)
			require.NoError(t, err)
			b, err := got.Learner.Export(url)
			require.NoError(t, err)
			require.Equal(t, a, b)
		}
	}
}

func TestPack(t *testing.T) {
	t.Parallel()
	events := drawn(500)
	record, err := encode(events)
	require.NoError(t, err)
	back, err := decode(record)
	require.NoError(t, err)
	require.Len(t, back, len(events))
	for i := range events {
		require.True(t, events[i].At.Equal(back[i].At) && events[i].Until.Equal(back[i].Until))
		back[i].At, back[i].Until = events[i].At, events[i].Until
	}
	require.Equal(t, events, back)
	record[len(record)/2]++
	_, err = decode(record)
	require.ErrorIs(t, err, codec.ErrCorrupt)
}

// A state that was saved and restored goes on as the one that was not.
func TestSaved(t *testing.T) {
	t.Parallel()
	events := drawn(3000)
	want, s := newState(t), newState(t)
	want.Points, s.Points = []byte("points"), []byte("points")
	apply(t, want, events)
	for i := range events {
		apply(t, s, events[i:i+1])
		if i%500 == 250 {
			data, err := s.MarshalBinary()
			require.NoError(t, err)
			s = newState(t)
			require.ErrorIs(t, s.UnmarshalBinary(data[:len(data)-9]), codec.ErrCorrupt)
			require.NoError(t, s.UnmarshalBinary(data))
		}
	}
	requireSame(t, want, s)
}

// ordered is a state whose pages are saved in the order of their URLs, to be compared by its bytes.
type ordered struct{ *State }

func (o ordered) MarshalBinary() ([]byte, error) {
	return o.save(slices.Values(slices.SortedFunc(o.All(), func(a, b *Page) int { return strings.Compare(a.URL, b.URL) })))
}

// forgeable is the case of a state in the middle of a run, with pages at all stages. It had no hints,
// as most of its bytes would be about them.
func forgeable(t testing.TB) *codectest.Case {
	s := newState(t)
	events := slices.DeleteFunc(drawn(660), func(e Event) bool { return e.Kind == Hint })
	apply(t, s, events[:500])
	for at := range stages {
		require.NotZero(t, s.Count(at), at)
	}
	// Pages come in any order, and the first of an accepted state need not be the first saved.
	return codectest.Of(ordered{s}, func() ordered { return ordered{newState(t)} }, func(s ordered) any {
		for i := range events[500:] {
			if err := s.Apply(&events[500+i]); err != nil {
				return fmt.Sprint(i, err) // the end of such a state
			}
		}
		return s.Totals
	}, codectest.Partial)
}

// A setting that a page has no more is as if it had never had it.
func TestSettingsAreTakenBack(t *testing.T) {
	t.Parallel()
	for _, settings := range []Event{{Weight: 9}, {Shortest: 1e7}, {Longest: 60}} {
		s := newState(t)
		urls := []string{"http://a.test/1", "http://a.test/2", "http://b.test/1", "http://b.test/2"}
		for _, url := range urls {
			apply(t, s, []Event{{Kind: Add, URL: url, At: begin}, {Kind: Polled, URL: url, At: begin, Result: First}})
		}
		settings.Kind, settings.URL, settings.At = Add, urls[0], begin
		apply(t, s, []Event{settings, {Kind: Add, URL: urls[0], At: begin}})
		polls := map[string]int{}
		for k := range 400 {
			now := begin.Add(time.Duration(k) * time.Hour)
			url, err := s.Learner.Next(now)
			require.NoError(t, err)
			polls[url]++
			apply(t, s, []Event{{Kind: Polled, URL: url, At: now, Result: Result(k / 4 % 2)}})
		}
		require.InDelta(t, 100, polls[urls[0]], 20, "%v", polls)
	}
}

// A state that was altered is refused, or goes on.
func TestForged(t *testing.T) {
	t.Parallel()
	codectest.Forged(t, forgeable(t))
}

func FuzzSaved(f *testing.F) { codectest.Fuzz(f, forgeable(new(testing.T))) } // f must not be used within the target

// What contradicts itself is refused, and leaves a state as it was.
func TestContradictions(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(s *State){
		"a page that the learner lacks": func(s *State) { s.move(first(s, Waiting), Crawled) },
		"a page that the learner has": func(s *State) {
			s.Host("host0.test").Pages--
			s.move(s.Page("http://host0.test/0"), Ended)
		},
		"pages of a host":  func(s *State) { s.Host("host1.test").Pages++ },
		"a barred page":    func(s *State) { first(s, Barred).Stage, first(s, Waiting).learnt = Barred, []byte{1} },
		"a long history":   func(s *State) { first(s, Ended).history = make([]byte, memorySize*(memories+1)) },
		"half a history":   func(s *State) { first(s, Ended).history = make([]byte, memorySize+1) },
		"a host of twice":  func(s *State) { s.hosts["again"] = s.Host("host1.test") },
		"a page of twice":  func(s *State) { s.pages["again"] = first(s, Ended) },
		"a removed page":   func(s *State) { require.NoError(t, s.Learner.Remove(first(s, Crawled).URL)) },
		"an unknown page":  func(s *State) { s.Learner.Add("http://host9.test/") },
		"a negative count": func(s *State) { s.Host("host1.test").vetoes = -1 },
	} {
		s, to := newState(t), newState(t)
		apply(t, s, drawn(500))
		apply(t, to, drawn(50))
		before, err := ordered{to}.MarshalBinary()
		require.NoError(t, err)
		spoil(s)
		data, err := s.MarshalBinary()
		require.NoError(t, err)
		require.ErrorIs(t, to.UnmarshalBinary(data), codec.ErrCorrupt, name)
		after, err := ordered{to}.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, before, after, name)
	}
}

// first returns the page at a stage whose URL is the first.
func first(s *State, at Stage) *Page {
	var p *Page
	for q := range s.All() {
		if q.Stage == at && (p == nil || q.URL < p.URL) {
			p = q
		}
	}
	return p
}

// reopened returns the state that the log in a directory gives back, and that log.
func reopened(t *testing.T, dir string) (*State, *engine.Shard, *engine.Engine) {
	e, err := engine.Open(t.Context(), engine.Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	log, err := e.Own(t.Context(), 0)
	require.NoError(t, err)
	s := newState(t)
	require.NoError(t, Restore(t.Context(), s, log))
	return s, log, e
}

// A log gives back the state, with snapshots in between and without.
func TestRestore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	events := drawn(2000)
	want := newState(t)
	apply(t, want, events)
	for part := range 4 {
		s, log, e := reopened(t, dir)
		l := NewLoop(Config{State: s, Log: log})
		require.NoError(t, l.Learn(t.Context(), events[part*500:part*500+500]))
		if part%2 == 1 {
			require.NoError(t, l.snapshot(t.Context(), true))
			require.NoError(t, <-l.saved)
		}
		if part == 3 {
			requireSame(t, want, s)
		}
		e.Close()
	}
}

// A crawl that is killed before its log is long enough for a snapshot has learnt all the same.
func TestKilledYoung(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, log, e := reopened(t, dir)
	jobs := make(chan Job, 1000)
	l := NewLoop(Config{State: s, Log: log, Clock: clock.NewReal(), PerSecond: 1000, Window: 4, Submit: func(j Job) { jobs <- j }})
	var urls []string
	now := time.Now()
	for i := range 20 {
		url := fmt.Sprint("http://host.test/", i)
		urls = append(urls, url)
		require.NoError(t, l.Learn(t.Context(), []Event{{Kind: Add, URL: url, At: now}, {Kind: Polled, URL: url, At: now, Result: First}}))
	}
	ctx, kill := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	for range 400 {
		j := <-jobs
		e := Event{Kind: Polled, ID: j.ID, URL: j.URL, At: time.Now(), Result: Unchanged}
		if j.URL == urls[0] {
			e.Result = Changed
		}
		l.Tell(t.Context(), e)
	}
	var learnt uint64
	require.Eventually(t, func() bool {
		require.NoError(t, l.Do(t.Context(), func(s *State) { learnt = s.Learnt }))
		return learnt >= 400
	}, time.Minute, time.Millisecond)
	kill()
	require.ErrorIs(t, <-ended, context.Canceled)
	e.Close()
	s, _, e = reopened(t, dir)
	defer e.Close()
	require.Equal(t, learnt, s.Learnt)
	require.NoError(t, knapsack.With(s.Learner, func(f *knapsack.RateFilter, page func(string) (int, error)) error {
		var rates []float64
		for _, url := range urls {
			id, err := page(url)
			require.NoError(t, err)
			r, err := f.Rate(id)
			require.NoError(t, err)
			rates = append(rates, r.Median)
		}
		require.Greater(t, rates[0], 5*slices.Max(rates[1:]), "%v", rates)
		return nil
	}))
}
