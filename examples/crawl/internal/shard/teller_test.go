package shard

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// run asks a state once a second for some time, and returns the events of the polls and how many of
// them were of dead pages, which a third of all are.
func run(t *testing.T, s *State, from time.Time, seconds int) (events []Event, dead int) {
	t.Helper()
	for i := range seconds {
		now := from.Add(time.Duration(i) * time.Second)
		url, err := s.Learner.Next(now)
		if err != nil {
			continue
		}
		e := Event{Kind: Polled, URL: url, At: now.Add(100 * time.Millisecond), Result: Result(i % 2)}
		if url[len(url)-1] == '0' {
			dead++
			e.Result = Failed
		}
		apply(t, s, []Event{e})
		events = append(events, e)
	}
	return events, dead
}

// Failures since the latest snapshot count after a restart: dead pages are left alone as they would
// have been.
func TestFailuresAreReplayed(t *testing.T) {
	t.Parallel()
	const pages = 300
	live := newState(t)
	var begun []Event
	for i := range pages {
		url := fmt.Sprintf("http://host%d.test/%d/%d", i%7, i, min(i%3, 1))
		begun = append(begun, Event{Kind: Add, URL: url, At: begin}, Event{Kind: Polled, URL: url, At: begin, Result: First})
	}
	apply(t, live, begun)
	run(t, live, begin.Add(time.Second), 4*pages)
	snapshot, err := live.MarshalBinary()
	require.NoError(t, err)
	now := begin.Add((4*pages + 1) * time.Second)
	since, failures := run(t, live, now, 4*pages)
	require.Positive(t, failures)
	again := newState(t)
	require.NoError(t, again.UnmarshalBinary(snapshot))
	apply(t, again, since)
	now = now.Add(4 * pages * time.Second)
	_, want := run(t, live, now, 2*pages)
	_, got := run(t, again, now, 2*pages)
	t.Logf("polls of dead pages in two cycles: %d without a restart, %d after one", want, got)
	require.InDelta(t, want, got, 0.5*float64(want)+5)
}

// A page that failed before its first copy is polled as soon after that as any other, also where the log is replayed:
// the copy is no failure, and those before it have had their waits.
func TestFirstCopyAfterFailures(t *testing.T) {
	t.Parallel()
	const cycle, down = 100, 6
	s := newState(t)
	for i := range cycle {
		e := Event{Kind: Add, URL: fmt.Sprint("http://a.test/", i), At: begin}
		apply(t, s, []Event{e, {Kind: Polled, URL: e.URL, At: begin, Result: First}})
	}
	run(t, s, begin, 10*cycle)
	snapshot, err := s.MarshalBinary()
	require.NoError(t, err)
	again := newState(t)
	require.NoError(t, again.UnmarshalBinary(snapshot))

	now := begin.Add(10 * cycle * time.Second)
	late := Event{Kind: Add, URL: "http://b.test/late", At: now}
	since := []Event{late, {Kind: Polled, URL: late.URL, At: now, Result: Failed}}
	apply(t, s, since)
	next := func(s *State) (e Event) {
		for {
			now = now.Add(time.Second)
			if url, err := s.Learner.Next(now); err == nil {
				return Event{Kind: Polled, URL: url, At: now}
			}
		}
	}
	for failed := 1; failed <= down; {
		e := next(s)
		if e.URL == late.URL {
			if failed++; failed <= down {
				e.Result = Failed
			} else {
				e.Result = First
			}
		}
		apply(t, s, []Event{e})
		since = append(since, e)
	}
	apply(t, again, since)
	found := now
	for _, s := range []*State{s, again} {
		now = found
		for e := next(s); e.URL != late.URL; e = next(s) {
			apply(t, s, []Event{e})
			require.Less(t, now.Sub(found), 2*cycle*time.Second)
		}
	}
}

// Pages that failed for long and were found again since the latest snapshot are polled after a restart as they would
// have been: no wait from before their answers is left.
func TestRecoveryIsReplayed(t *testing.T) {
	t.Parallel()
	const pages, cycle = 20, 100
	live := newState(t)
	for i := range cycle {
		e := Event{Kind: Add, URL: fmt.Sprintf("http://host%d.test/%d", i/pages, i), At: begin}
		apply(t, live, []Event{e, {Kind: Polled, URL: e.URL, At: begin, Result: First}})
	}
	polled := func(s *State, from time.Time, cycles int, down bool) (events []Event, of map[string]int) {
		of = map[string]int{}
		for i := range cycles * cycle {
			now := from.Add(time.Duration(i) * time.Second)
			url, err := s.Learner.Next(now)
			if err != nil {
				continue
			}
			e := Event{Kind: Polled, URL: url, At: now, Result: Result(i % 2)}
			if HostOf(url) == "host0.test" {
				if of[url]++; down {
					e.Result = Failed
				}
			}
			apply(t, s, []Event{e})
			events = append(events, e)
		}
		return events, of
	}
	polled(live, begin, 10, false)
	snapshot, err := live.MarshalBinary()
	require.NoError(t, err)
	at := func(cycles int) time.Time { return begin.Add(time.Duration(cycles) * cycle * time.Second) }
	failed, _ := polled(live, at(10), 20, true)
	var found []Event
	end := 30
	for of := map[string]int{}; len(of) < pages; end++ {
		events, more := polled(live, at(end), 1, false)
		maps.Copy(of, more)
		found = append(found, events...)
	}
	again := newState(t)
	require.NoError(t, again.UnmarshalBinary(snapshot))
	apply(t, again, failed)
	apply(t, again, found)
	_, want := polled(live, at(end), 2, false)
	_, got := polled(again, at(end), 2, false)
	t.Logf("recovered at %d; pages polled in two cycles: %d without a restart, %d after one", end, len(want), len(got))
	require.Len(t, want, pages)
	require.Len(t, got, pages)
}

// A page is left alone as GiveBack has it.
func TestPatience(t *testing.T) {
	t.Parallel()
	p := &Page{}
	now := begin
	poll := func(after time.Duration, r Result) float64 {
		now = now.Add(after)
		p.remember(&Event{At: now, Result: r})
		return p.patience(1000)
	}
	require.Equal(t, 500., poll(0, Failed)) // when it was answered before is not known
	require.Equal(t, 1000., poll(time.Second, Failed))
	poll(time.Second, Changed)
	require.Equal(t, 200., poll(400*time.Second, Vetoed))
	require.Equal(t, 400., poll(time.Second, Failed))
	for range 3 {
		poll(time.Second, Failed)
	}
	require.Equal(t, 6400., poll(time.Second, Failed))
	for range 2 {
		require.Equal(t, 16000., max(poll(time.Second, Failed), poll(time.Second, Failed)))
	}
	poll(time.Second, Unchanged)
	require.Equal(t, 125., poll(time.Second, Failed))
	require.Equal(t, 500., poll(time.Second, First))
	require.Equal(t, 500., poll(time.Hour, Failed))
}

// crawled returns a state that has crawled 300 pages for some cycles, and its time.
func crawled(t *testing.T) (s *State, now time.Time) {
	t.Helper()
	s = newState(t)
	for i := range 300 {
		e := Event{Kind: Add, URL: fmt.Sprintf("http://host%d.test/%d", i%10, i), At: begin}
		apply(t, s, []Event{e, {Kind: Polled, URL: e.URL, At: begin, Result: First}})
	}
	run(t, s, begin, 1000)
	return s, begin.Add(1000 * time.Second)
}

// askedAfter returns how many seconds after a time a page is asked for, before each of which something happens.
func askedAfter(t *testing.T, s *State, page string, from time.Time, before func(after int)) (after int) {
	t.Helper()
	for after = 1; ; after++ {
		before(after)
		now := from.Add(time.Duration(after) * time.Second)
		url, err := s.Learner.Next(now)
		if err != nil {
			continue
		}
		if url == page {
			return after
		}
		apply(t, s, []Event{{Kind: Polled, URL: url, At: now, Result: Result(after % 2)}})
	}
}

// The wait after a first copy, which is a part of a cycle, is no longer than the longest interval of the page.
func TestLongestIntervalFromTheFirstCopy(t *testing.T) {
	t.Parallel()
	const longest = 20
	for _, later := range []bool{false, true} { // it is set when there is a copy
		s, from := crawled(t)
		late := Event{Kind: Add, URL: "http://a.test/late", At: from}
		if !later {
			late.Longest = longest
		}
		apply(t, s, []Event{late, {Kind: Polled, URL: late.URL, At: from, Result: First}})
		if later {
			late.Longest = longest
			apply(t, s, []Event{late})
		}
		after := askedAfter(t, s, late.URL, from, func(int) {})
		require.InDelta(t, longest, after, 5)
	}
}

// A first copy that a hint says is old is not waited with, but for the page's shortest interval. One from before it, as
// sources have after a restart, says nothing.
func TestHintAfterTheFirstCopy(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		hint, shortest float64
		least, most    int
	}{{-10, 0, 100, 500}, {30, 0, 30, 40}, {30, 60, 60, 70}} {
		s, from := crawled(t)
		late := Event{Kind: Add, URL: "http://a.test/late", At: from, Shortest: c.shortest}
		apply(t, s, []Event{late, {Kind: Polled, URL: late.URL, At: from, Result: First}})
		after := askedAfter(t, s, late.URL, from, func(after int) {
			if after == 30 {
				apply(t, s, []Event{{Kind: Hint, URL: late.URL, At: from.Add(time.Duration(c.hint) * time.Second)}})
			}
		})
		require.GreaterOrEqual(t, after, c.least, "%+v", c)
		require.LessOrEqual(t, after, c.most, "%+v", c)
	}
}

// The shortest interval of a page counts from its first copy on, also one that is set, raised or taken back after that.
func TestShortestIntervalFromTheFirstCopy(t *testing.T) {
	t.Parallel()
	for _, shortest := range [][]float64{{300}, {300, 500}, {0, 300}, {5000, 300}, {300, 0}, {300, 50}} {
		s := newState(t)
		for i := range 10 {
			e := Event{Kind: Add, URL: fmt.Sprint("http://a.test/", i), At: begin}
			apply(t, s, []Event{e, {Kind: Polled, URL: e.URL, At: begin, Result: First}})
		}
		run(t, s, begin, 200) // there is a cycle of some seconds
		from := begin.Add(1000 * time.Second)
		late := Event{Kind: Add, URL: "http://a.test/late", At: from, Shortest: shortest[0]}
		apply(t, s, []Event{late, {Kind: Polled, URL: late.URL, At: from, Result: First}})
		for _, then := range shortest[1:] {
			late.Shortest = then
			apply(t, s, []Event{late})
		}
		last := shortest[len(shortest)-1]
		for round := range 2 { // a copy that was lost is fetched again
			again := 0
			for ; again < 2000; again++ {
				now := from.Add(time.Duration(again) * time.Second)
				url, err := s.Learner.Next(now)
				if err != nil {
					continue
				}
				e := Event{Kind: Polled, URL: url, At: now, Result: Changed}
				if url == late.URL {
					e.Result, from = First, now
				}
				apply(t, s, []Event{e})
				if url == late.URL {
					break
				}
			}
			require.GreaterOrEqual(t, float64(again), last, "%v, %d", shortest, round)
			require.Less(t, float64(again), last+200, "%v, %d", shortest, round)
		}
	}
}
