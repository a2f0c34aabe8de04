package shard

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/knapsack"
)

// Hosts that come and go leave nothing behind, with the learner or without.
func TestHostsGo(t *testing.T) {
	t.Parallel()
	s, now := newState(t), begin
	sizes := map[int]int{}
	for i := range 2000 {
		url := fmt.Sprintf("http://host%d.test/", i)
		now = now.Add(time.Second)
		limit := Event{Kind: Limit, URL: HostOf(url), At: now, Seconds: 5} // which may come late
		apply(t, s, []Event{{Kind: Add, URL: url, At: now}})
		if i%3 > 0 {
			apply(t, s, []Event{limit, {Kind: Polled, URL: url, At: now, Result: []Result{0, First, Forbidden}[i%3]}})
		}
		apply(t, s, []Event{{Kind: Remove, URL: url, At: now}, limit})
		require.Zero(t, s.CountHosts())
		data, err := s.MarshalBinary()
		require.NoError(t, err)
		sizes[i] = len(data)
	}
	require.Equal(t, sizes[100], sizes[1999])
}

// Nor does a page of a learner that cannot defer it.
func TestVetoGoes(t *testing.T) {
	t.Parallel()
	learner, err := knapsack.NewFixed(nil, knapsack.Even, rand.NewPCG(1, 2))
	require.NoError(t, err)
	s := NewState(learner)
	const url = "http://a.test/"
	apply(t, s, []Event{{Kind: Add, URL: url, At: begin}, {Kind: Polled, URL: url, At: begin, Result: First}, {Kind: Polled, URL: url, At: begin, Result: Vetoed, Until: begin.Add(time.Hour)}})
	require.True(t, s.vetoed(url, begin))
	apply(t, s, []Event{{Kind: Remove, URL: url, At: begin}})
	require.Empty(t, s.vetoes)
	require.Zero(t, s.CountHosts())
}

// groups returns how many of the first groups of a learner are there.
func groups(t *testing.T, s *State, most int) (n int) {
	t.Helper()
	require.NoError(t, s.filter(func(f *knapsack.RateFilter, _ func(string) (int, error)) error {
		for i := range most {
			if err := f.LimitGroup(i, knapsack.GroupConfig{}); err == nil {
				n++
			}
		}
		return nil
	}))
	return n
}

// A host without pages stays while it is paused, and until it may be asked again.
func TestHostsThatStay(t *testing.T) {
	t.Parallel()
	s := newState(t)
	at := func(minutes int) time.Time { return begin.Add(time.Duration(minutes) * time.Minute) }
	come := func(minute int, names ...string) {
		for _, name := range names {
			url := "http://" + name + "/"
			apply(t, s, []Event{{Kind: Add, URL: url, At: at(minute)}, {Kind: Polled, URL: url, At: at(minute), Result: First}})
		}
	}
	reload := func() {
		t.Helper()
		data, err := s.MarshalBinary()
		require.NoError(t, err)
		loaded := newState(t)
		require.NoError(t, loaded.UnmarshalBinary(data))
		requireSame(t, s, loaded)
		s = loaded
	}
	there := func(names ...string) {
		t.Helper()
		require.Equal(t, len(names), s.CountHosts())
		require.Equal(t, len(names), groups(t, s, 9))
		for _, name := range names {
			require.NotNil(t, s.Host(name), name)
		}
		reload()
	}
	come(0, "paused", "rests", "busy", "gone", "stays")
	apply(t, s, []Event{{Kind: Pause, URL: "paused", At: at(1), On: true}})
	for range fetch.Impatience {
		apply(t, s, []Event{
			{Kind: Polled, URL: "http://rests/", At: at(1), Result: Vetoed, Until: at(60)},
			{Kind: Polled, URL: "http://busy/", At: at(1), Result: Vetoed, Until: at(30)},
		})
	}
	for _, name := range []string{"paused", "rests", "busy", "gone"} {
		apply(t, s, []Event{{Kind: Remove, URL: "http://" + name + "/", At: at(2)}})
	}
	there("paused", "rests", "busy", "stays")

	// One that has a page again still rests; without that page it goes when it has rested.
	apply(t, s, []Event{{Kind: Add, URL: "http://rests/", At: at(3)}})
	_, rests := s.Host("rests").Rests(at(3))
	require.True(t, rests)
	come(4, "other")
	apply(t, s, []Event{{Kind: Remove, URL: "http://rests/", At: at(5)}, {Kind: Remove, URL: "http://other/", At: at(31)}})
	there("paused", "rests", "stays")
	come(6, "other")
	apply(t, s, []Event{{Kind: Remove, URL: "http://other/", At: at(60)}})
	there("paused", "stays")

	// A pause outlasts the pages, and the host is gone with it.
	come(61, "paused")
	require.True(t, s.Host("paused").Paused)
	apply(t, s, []Event{{Kind: Remove, URL: "http://paused/", At: at(62)}})
	there("paused", "stays")
	apply(t, s, []Event{{Kind: Pause, URL: "paused", At: at(63)}})
	there("stays")
}

// Of hosts that have rested at the same time the groups are given out again in the same order, whatever the
// order in which they went.
func TestHostsRestUntilTheSameTime(t *testing.T) {
	t.Parallel()
	first := func(host string) []Event {
		url := "http://" + host + "/"
		return []Event{{Kind: Add, URL: url, At: begin}, {Kind: Polled, URL: url, At: begin, Result: First}}
	}
	want, got := newState(t), newState(t)
	for _, host := range []string{"b", "a"} {
		apply(t, want, first(host))
		for range fetch.Impatience {
			apply(t, want, []Event{{Kind: Polled, URL: "http://" + host + "/", At: begin, Result: Vetoed, Until: begin.Add(time.Hour)}})
		}
	}
	apply(t, want, append(first("c"), Event{Kind: Remove, URL: "http://b/", At: begin}, Event{Kind: Remove, URL: "http://a/", At: begin}))
	data, err := want.MarshalBinary()
	require.NoError(t, err)
	require.NoError(t, got.UnmarshalBinary(data))
	for _, s := range []*State{want, got} {
		apply(t, s, []Event{{Kind: Remove, URL: "http://c/", At: begin.Add(time.Hour)}})
		apply(t, s, append(first("d"), first("e")...))
	}
	requireSame(t, want, got)
}

// A state whose hosts come and go is the same after it was saved and restored.
func TestSavedWhileHostsGo(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(2, 3))
	events := drawn(5000)
	for i := range events {
		e := &events[i]
		e.URL = fmt.Sprintf("host%d.test", rng.IntN(6))
		if e.Kind == Pause || e.Kind == Limit || e.Kind == Veto {
			continue
		}
		e.URL = fmt.Sprintf("http://%s/%d", e.URL, rng.IntN(2))
		if e.Kind != Polled {
			continue
		}
		if rng.IntN(4) == 0 {
			e.Kind = Remove
		} else if rng.IntN(3) > 0 { // often enough for whole hosts to rest, and until the same time
			e.Result, e.Until = Vetoed, e.At.Truncate(time.Hour).Add(time.Hour)
		}
	}
	want, s := newState(t), newState(t)
	resting, gone := 0, 0
	for i := range events {
		before := want.CountHosts()
		apply(t, want, events[i:i+1])
		apply(t, s, events[i:i+1])
		for h := range want.Hosts() {
			if h.all == 0 && !h.Paused {
				resting++
			}
		}
		gone += max(before-want.CountHosts(), 0)
		if i%10 == 9 {
			data, err := s.MarshalBinary()
			require.NoError(t, err)
			s = newState(t)
			require.NoError(t, s.UnmarshalBinary(data))
			requireSame(t, want, s)
		}
	}
	require.Greater(t, resting, 50)
	require.Greater(t, gone, 10)
}

// A host without pages that names an earlier time than before is forgotten then, saved or not.
func TestHostsRestForLess(t *testing.T) {
	t.Parallel()
	veto := func(hours int) Event {
		return Event{Kind: Veto, URL: "a.test", At: begin, Until: begin.Add(time.Duration(hours) * time.Hour)}
	}
	s := newState(t)
	apply(t, s, []Event{
		{Kind: Add, URL: "http://a.test/", At: begin}, {Kind: Add, URL: "http://b.test/", At: begin},
		veto(5), veto(5), veto(5), {Kind: Remove, URL: "http://a.test/", At: begin}, veto(1),
	})
	require.NotNil(t, s.Host("a.test"))
	apply(t, s, []Event{{Kind: Remove, URL: "http://b.test/", At: begin.Add(2 * time.Hour)}})
	require.Nil(t, s.Host("a.test"))
}

// Hosts without pages that an earlier version saved are left out.
func TestVacantHostsOfBefore(t *testing.T) {
	t.Parallel()
	s := newState(t)
	apply(t, s, []Event{{Kind: Add, URL: "http://a.test/", At: begin}, {Kind: Polled, URL: "http://a.test/", At: begin, Result: First}})
	for _, name := range []string{"gone.test", "paused.test", "rests.test"} {
		require.NoError(t, s.limit(s.host(name)))
	}
	require.NoError(t, s.limit(s.host("gone.test")))
	s.host("paused.test").Paused = true
	s.host("rests.test").until = seconds(begin.Add(time.Hour))
	data, err := s.MarshalBinary()
	require.NoError(t, err)
	got := newState(t)
	require.NoError(t, got.UnmarshalBinary(data))
	require.Nil(t, got.Host("gone.test"))
	require.NotNil(t, got.Host("paused.test"))
	require.NotNil(t, got.Host("rests.test"))
	require.Equal(t, 3, groups(t, got, 9))
	apply(t, got, []Event{{Kind: Remove, URL: "http://a.test/", At: begin.Add(2 * time.Hour)}})
	require.Equal(t, 1, got.CountHosts())
}
