package shard

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/knapsack"
)

// A handClock goes when it is told to.
type handClock struct{ now time.Time }

func (c *handClock) Now() time.Time                       { return c.now }
func (c *handClock) Sleep(context.Context, time.Duration) {}
func (c *handClock) Real(d time.Duration) time.Duration   { return d }

// First copies draw on the budget: alone they have all of it, and beside other pages half. Together
// they are not more than it is, however often it is tried.
func TestCopiesDrawOnTheBudget(t *testing.T) {
	t.Parallel()
	const pages, hours = 1000, 100
	url := func(i int) string { return fmt.Sprintf("http://host%d.test/%d", i%50, i) }
	for name, known := range map[string]int{"alone": 0, "beside others": 200} {
		now, polls := &handClock{begin}, 0
		s := newState(t)
		l := NewLoop(Config{State: s, Clock: now, PerSecond: 1. / 3600, Window: pages, Submit: func(j Job) {
			polls++
			apply(t, s, []Event{{Kind: Polled, URL: j.URL, At: now.now}})
		}})
		for i := range pages {
			apply(t, s, []Event{{Kind: Add, URL: url(i), At: begin}})
			if i < known {
				apply(t, s, []Event{{Kind: Polled, URL: url(i), At: begin, Result: First}})
			}
		}
		l.due = now.now
		copies, next := 0, known
		for range hours * 60 {
			require.NoError(t, l.ask())
			l.inFlight = 0
			for range 10 {
				job, wait, ok := l.Take(url(next))
				require.NotEqual(t, ok, wait > 0)
				if !ok {
					break
				}
				require.Equal(t, url(next), job.URL)
				copies++
				next++
			}
			now.now = now.now.Add(time.Minute)
		}
		require.InDelta(t, hours, copies+polls, 2, name)
		require.EqualValues(t, copies+polls, l.Spent)
		if known == 0 {
			require.Zero(t, polls)
		} else {
			require.InDelta(t, hours/2, copies, 2)
		}
	}
}

// A loop that begins again and again, as its process is started anew, does not spend something each time: no more than a
// poll and a first copy in the time from one poll to the next.
func TestBeginsAgain(t *testing.T) {
	t.Parallel()
	for _, known := range []int{0, 100} {
		now, polls, next := &handClock{begin}, 0, known
		s := newState(t)
		url := func(i int) string { return fmt.Sprintf("http://host%d.test/", i) }
		for i := range 200 {
			apply(t, s, []Event{{Kind: Add, URL: url(i), At: begin}})
		}
		for i := range known {
			apply(t, s, []Event{{Kind: Polled, URL: url(i), At: begin, Result: First}})
		}
		const hours = 50
		for range hours * 6 {
			l := NewLoop(Config{State: s, Clock: now, PerSecond: 1. / 3600, Window: 10, Submit: func(j Job) {
				polls++
				apply(t, s, []Event{{Kind: Polled, URL: j.URL, At: now.now}})
			}})
			l.begin()
			require.NoError(t, l.ask())
			if job, _, ok := l.Take(url(next)); ok {
				next++
				polls++
				apply(t, s, []Event{{Kind: Polled, URL: job.URL, At: now.now, Result: First}})
			}
			now.now = now.now.Add(10 * time.Minute)
		}
		require.InDelta(t, 2*hours, polls, 4)
		now.now = now.now.Add(24 * time.Hour) // which are not made up for
		polls = 0
		l := NewLoop(Config{State: s, Clock: now, PerSecond: 1. / 3600, Window: 10, Submit: func(Job) { polls++ }})
		l.begin()
		require.NoError(t, l.ask())
		require.LessOrEqual(t, polls, 1)

		// A poll of a time to come, by a clock that was wrong, does not put off all others until then.
		s.Latest = now.now.Add(1000 * time.Hour)
		l = NewLoop(Config{State: s, Clock: now, PerSecond: 1. / 3600, Window: 10})
		l.begin()
		require.Equal(t, now.now.Add(time.Hour), l.due)
	}
}

// A page whose poll was taken back, as its new version could not be kept, is polled again, also where the others are
// not to be asked for a day.
func TestTakenBack(t *testing.T) {
	t.Parallel()
	s, now, polls := newState(t), &handClock{begin}, map[string]int{}
	l := NewLoop(Config{State: s, Clock: now, PerSecond: 0.1, Window: 10, Submit: func(j Job) { polls[j.URL]++ }})
	const page, other = "http://a.test/", "http://b.test/"
	for _, url := range []string{page, other} {
		apply(t, s, []Event{{Kind: Add, URL: url, At: begin}, {Kind: Polled, URL: url, At: begin, Result: First}})
	}
	l.due = begin
	for range 1000 {
		now.now = now.now.Add(time.Second)
		require.NoError(t, l.ask())
		for range l.inFlight {
			for url := range s.Learner.InFlight() {
				apply(t, s, []Event{{Kind: Polled, URL: url, At: now.now}})
			}
		}
		l.inFlight, l.notReady = 0, time.Time{} // as the record lands
	}
	busy := Event{Kind: Polled, URL: other, At: now.now, Result: Vetoed, Status: 503, Until: now.now.Add(24 * time.Hour)}
	apply(t, s, []Event{busy})
	before := polls[page]
	for polls[page] == before {
		now.now = now.now.Add(time.Second)
		require.NoError(t, l.ask())
	}
	now.now = now.now.Add(time.Minute)
	require.NoError(t, l.ask())
	l.abandon(page)
	for range 3600 {
		now.now = now.now.Add(time.Second)
		require.NoError(t, l.ask())
	}
	require.Equal(t, before+2, polls[page], "which nobody answers")
}

// A page that a user asks for again and again, or that is being polled, is polled once: more polls would find the same
// change, and take the host's time.
func TestPollNow(t *testing.T) {
	t.Parallel()
	s, now, jobs := newState(t), &handClock{begin}, make(chan Job, 10)
	l := NewLoop(Config{State: s, Clock: now, Submit: func(j Job) { jobs <- j }})
	apply(t, s, []Event{{Kind: Add, URL: "http://a.test/new", At: begin}})
	for _, url := range []string{"http://a.test/", "http://a.test/asked"} {
		apply(t, s, []Event{{Kind: Add, URL: url, At: begin}, {Kind: Polled, URL: url, At: begin, Result: First}})
	}
	apply(t, s, []Event{{Kind: Add, URL: "http://a.test/gone", At: begin}, {Kind: Polled, URL: "http://a.test/gone", At: begin, Result: Gone}})
	asked, err := s.Learner.Next(begin)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- l.Run(ctx) }()
	for _, url := range []string{"http://a.test/new", "http://a.test/", "http://a.test/asked"} {
		for range 3 {
			require.NoError(t, l.PollNow(ctx, url))
		}
		if url == asked {
			require.Empty(t, jobs)
			continue
		}
		require.Len(t, jobs, 1)
		l.Tell(ctx, Event{Kind: Polled, URL: (<-jobs).URL, At: begin, Result: First})
		require.Eventually(t, func() bool {
			require.NoError(t, l.PollNow(ctx, url))
			return len(jobs) > 0
		}, 10*time.Second, time.Millisecond, "it was answered")
		<-jobs
	}
	require.ErrorIs(t, l.PollNow(ctx, "http://a.test/gone"), errGone) // and not unknown
	require.ErrorIs(t, l.PollNow(ctx, "http://a.test/none"), knapsack.ErrUnknown)
	require.Empty(t, jobs)
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

// A page that the learner asks for while a poll that a user asked for is under way is not polled twice at a time:
// the answer is one to both.
func TestPollNowThenAsked(t *testing.T) {
	t.Parallel()
	const url = "http://a.test/"
	s, now := newState(t), &handClock{begin}
	apply(t, s, []Event{{Kind: Add, URL: url, At: begin}, {Kind: Polled, URL: url, At: begin, Result: First}})
	polls := 0
	l := NewLoop(Config{State: s, Clock: now, PerSecond: 1, Window: 10, Submit: func(Job) { polls++ }})
	l.due = begin
	p := s.Page(url)
	p.taken = true // by PollNow
	l.submit(p)
	for range 100 {
		now.now = now.now.Add(time.Minute)
		require.NoError(t, l.ask())
	}
	require.Equal(t, 1, polls)
	require.Equal(t, 1, l.inFlight)
	apply(t, s, []Event{{Kind: Polled, URL: url, At: now.now, Result: Changed}})
	for range 100 {
		now.now = now.now.Add(time.Minute)
		require.NoError(t, l.ask())
	}
	require.Equal(t, 2, polls)
}

// Without a budget there is no first copy, unless they are free.
func TestFreeCopies(t *testing.T) {
	t.Parallel()
	for _, free := range []bool{false, true} {
		s := newState(t)
		l := NewLoop(Config{State: s, Clock: &handClock{begin}, FreeCopies: free})
		apply(t, s, []Event{{Kind: Add, URL: "http://a.test/0", At: begin}, {Kind: Add, URL: "http://a.test/1", At: begin}})
		for i := range 2 {
			_, wait, ok := l.Take(fmt.Sprint("http://a.test/", i))
			require.Equal(t, free, ok)
			require.Equal(t, free, wait == 0)
		}
		require.Zero(t, l.Spent)
		_, wait, ok := l.Take("http://a.test/2")
		require.True(t, !ok && wait == 0, "there is no such page")
	}
}

// The least budget is not the largest.
func TestInterval(t *testing.T) {
	t.Parallel()
	for perDay, want := range map[float64]time.Duration{
		86400: time.Second, 24: time.Hour, 5e-6: longestInterval, 5e-300: longestInterval,
	} {
		l := NewLoop(Config{PerSecond: perDay / 86400})
		require.Equal(t, want, l.interval())
		require.Positive(t, 64*l.interval())
	}
}

// A host that is paused, or that vetoed one poll after the other, gives no first copies until it is not
// paused any more, or the time that it named has come. Both are saved.
func TestRestingHostsGiveNoCopies(t *testing.T) {
	t.Parallel()
	url := func(i int) string { return fmt.Sprint("http://a.test/", i) }
	s, now := newState(t), &handClock{begin}
	for i := range 9 {
		apply(t, s, []Event{{Kind: Add, URL: url(i), At: begin}})
	}
	pause := func(on bool) { apply(t, s, []Event{{Kind: Pause, URL: "a.test", On: on}}) }
	takes := func(want bool) {
		t.Helper()
		data, err := s.MarshalBinary()
		require.NoError(t, err)
		s = newState(t)
		require.NoError(t, s.UnmarshalBinary(data))
		l := NewLoop(Config{State: s, Clock: now, FreeCopies: true})
		_, wait, ok := l.Take(url(8))
		require.Zero(t, wait)
		require.Equal(t, want, ok)
	}
	takes(true)
	pause(true)
	takes(false)
	pause(false)
	takes(true)
	apply(t, s, []Event{{Kind: Polled, URL: url(7), At: begin.Add(-time.Hour), Result: First}})
	for i := range fetch.Impatience {
		apply(t, s, []Event{{Kind: Polled, URL: url(i), At: begin, Result: Vetoed, Until: begin.Add(time.Hour)}})
		takes(i < fetch.Impatience-1)
	}
	pause(true)
	pause(false)
	takes(false)
	_, err := s.Learner.Next(begin.Add(time.Minute))
	require.ErrorIs(t, err, knapsack.ErrNoPage, "a pause does not make a host forget")
	left, rests := s.Host("a.test").Rests(begin.Add(time.Minute))
	require.True(t, rests)
	require.InDelta(t, 59, left.Minutes(), 0.01)
	now.now = begin.Add(time.Hour)
	takes(true)
	now.now = begin
	apply(t, s, []Event{{Kind: Polled, URL: url(0), At: begin, Result: First}})
	takes(true)
}

// What a small budget put off is not put off for so long once the budget is larger, and no shorter when it is
// smaller.
func TestLargerBudget(t *testing.T) {
	t.Parallel()
	now := &handClock{begin}
	s := newState(t)
	polls := 0
	l := NewLoop(Config{State: s, Clock: now, PerSecond: 0.001, Window: 9, Submit: func(Job) { polls++ }})
	for i := range 4 {
		apply(t, s, []Event{{Kind: Add, URL: fmt.Sprintf("http://host%d.test/", i), At: begin}})
	}
	apply(t, s, []Event{{Kind: Polled, URL: "http://host0.test/", At: begin, Result: First}, {Kind: Polled, URL: "http://host1.test/", At: begin, Result: First}})
	l.due = now.now
	now.now = now.now.Add(500 * time.Second)
	require.NoError(t, l.ask())
	_, wait, ok := l.Take("http://host2.test/")
	require.True(t, ok, wait)
	require.Equal(t, 1, polls)
	_, wait, _ = l.Take("http://host3.test/")
	require.Equal(t, 1999*time.Second, wait)
	l.SetRate(0.0005)
	_, wait, _ = l.Take("http://host3.test/")
	require.Equal(t, 1999*time.Second, wait)
	l.SetRate(1)
	_, wait, _ = l.Take("http://host3.test/")
	require.InDelta(t, 1, wait.Seconds(), 0.001)
	now.now = now.now.Add(2 * time.Second)
	require.NoError(t, l.ask())
	require.Equal(t, 2, polls)
	late := now.now.Add(-time.Minute)
	l.due = late
	l.SetRate(2)
	require.Equal(t, late, l.due, "what is late stays so")
}
