package book

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/codec/codectest"
	"github.com/recrawl/recrawl/knapsack"
)

// used returns a state in the middle of a run, with learnt, completed and leased URLs.
func used(t testing.TB, n int) *State {
	rng := rand.New(rand.NewPCG(1, 2))
	s := New(knapsack.Detections)
	now := 1e6
	apply := func(e Event) {
		now += 0.5
		e.At, e.Crawl = now, "c"
		_, err := s.Apply(&e)
		require.NoError(t, err)
	}
	for i := range n {
		apply(Event{Kind: Discovered, Key: fmt.Sprint(i % 3), URL: fmt.Sprint("u", i), Meta: "m"})
	}
	apply(Event{Kind: Delay, Key: "1", Seconds: 1})
	apply(Event{Kind: Block, Key: "2", Seconds: now + 60})
	apply(Event{Kind: DeleteQueue, Key: "0"})
	for k := range 60 {
		a := &Ask{Lease: 5, PerQueue: 2, Most: -1}
		now += 3
		gifts, _, err := a.Step(s, now, 10)
		require.NoError(t, err)
		a.End(now)
		for _, g := range gifts {
			if rng.IntN(5) == 0 {
				continue
			}
			e := Event{Kind: Known, Key: g.Key, URL: g.URL, Date: uint64(now) + 2}
			e.Verdict, e.Mark = s.Compare("c", g.Key, g.URL, Signs{Mark: 2 * (1 + rng.Uint64N(2))})
			if k == 30 {
				e.Date = 0
			}
			apply(e)
		}
	}
	return s
}

// use does what a server does with a state. It asks queues by name, as the order of those in
// line is not saved.
func use(s *State) any {
	did, _ := tryUse(s)
	return did
}

func tryUse(s *State) (did []any, err error) {
	now := s.Latest + 10
	for i := range 4 {
		for _, key := range []string{"1", "2"} {
			a := &Ask{Crawl: "c", Key: key, Lease: 5, PerQueue: 2, Most: -1}
			gifts, events, err := a.Step(s, now, 10)
			did = append(did, gifts, events, fmt.Sprint(err))
			if err != nil {
				return did, err
			}
			a.End(now)
			for _, g := range gifts {
				now++
				_, err := s.Apply(&Event{Kind: Known, At: now, Crawl: g.Crawl, Key: g.Key, URL: g.URL, Date: uint64(now), Verdict: Verdict(1 + i), Mark: 2})
				did = append(did, fmt.Sprint(err))
				if err != nil {
					return did, err
				}
			}
			now += 20
		}
	}
	n, err := s.Apply(&Event{Kind: Purge, At: now, Crawl: "c", Seconds: 1e6 + 10})
	return append(did, n, fmt.Sprint(err)), err
}

func saved(t testing.TB) *codectest.Case {
	return codectest.Of(used(t, 12), func() *State { return New(knapsack.Detections) }, func(s *State) any {
		did, err := tryUse(s)
		if err != nil {
			*s = *New(knapsack.Detections) // it is not to be used any more
		}
		return did
	})
}

// spoiled returns states that contradict themselves, as they are saved.
func spoiled(t testing.TB) map[string][]byte {
	all := map[string][]byte{}
	for name, spoil := range map[string]func(s *State, c *Crawl, q, other *Queue, is func(asked bool) *URL){
		"crawl twice": func(s *State, c *Crawl, _, _ *Queue, _ func(bool) *URL) {
			first, err := newCrawl(s, c.name)
			require.NoError(t, err)
			s.crawls = []*Crawl{first, c}
		},
		"asked, and waits":   func(_ *State, _ *Crawl, _, _ *Queue, is func(bool) *URL) { is(false).set(asked, true) },
		"in flight, unasked": func(_ *State, _ *Crawl, _, _ *Queue, is func(bool) *URL) { is(true).set(asked, false) },
		"page of no URL":     func(_ *State, _ *Crawl, _, _ *Queue, is func(bool) *URL) { is(false).page = none },
		"page that is free": func(_ *State, c *Crawl, _, _ *Queue, is func(bool) *URL) {
			require.NoError(t, c.judge.filter.Defer(is(false).page, 0))
		},
		"asked, free and waits": func(_ *State, c *Crawl, _, _ *Queue, is func(bool) *URL) {
			u := is(false)
			u.set(asked, true)
			require.NoError(t, c.judge.filter.Defer(u.page, 0))
		},
		"unknown group": func(_ *State, _ *Crawl, q, _ *Queue, _ func(bool) *URL) { q.group = 77 },
		"removed group": func(_ *State, c *Crawl, q, _ *Queue, _ func(bool) *URL) {
			require.NoError(t, c.judge.filter.RemoveGroup(q.group))
		},
		"group of another": func(_ *State, _ *Crawl, q, other *Queue, _ func(bool) *URL) { q.group = other.group },
		"queue free twice": func(_ *State, c *Crawl, _, _ *Queue, _ func(bool) *URL) {
			c.queues, c.free = append(c.queues, nil), append(c.free, c.free...)
		},
	} {
		s := used(t, 12)
		c := s.byName["c"]
		spoil(s, c, c.byKey["1"], c.byKey["2"], func(is bool) *URL {
			for _, q := range []*Queue{c.byKey["1"], c.byKey["2"]} {
				for i := range q.urls {
					if u := &q.urls[i]; u.page != none && u.is(asked) == is {
						return u
					}
				}
			}
			t.Fatalf("no URL is asked: %v", is)
			return nil
		})
		data, err := s.MarshalBinary()
		require.NoError(t, err)
		all[name] = data
	}
	return all
}

// A state whose parts contradict one another is refused: in use it would fail, or hang.
func TestSpoiled(t *testing.T) {
	t.Parallel()
	for name, data := range spoiled(t) {
		require.ErrorIs(t, New(knapsack.Detections).UnmarshalBinary(data), codec.ErrCorrupt, name)
	}
}

// A state that was loaded goes on as the one that was saved, and one that was altered is refused.
// There is no golden file, as the learner in it has one.
func TestSaved(t *testing.T) {
	t.Parallel()
	s := used(t, 12)
	data, err := s.MarshalBinary()
	require.NoError(t, err)
	again := New(knapsack.Detections)
	require.NoError(t, again.UnmarshalBinary(data))
	require.Equal(t, use(s), use(again))
	for i := range data {
		data[i] ^= 1
		require.ErrorIs(t, again.UnmarshalBinary(data), codec.ErrCorrupt)
		data[i] ^= 1
		require.ErrorIs(t, again.UnmarshalBinary(data[:i]), codec.ErrCorrupt)
	}
}

func FuzzSaved(f *testing.F) {
	head := len(stateFormat.Magic) + 1
	states := spoiled(f)
	for _, name := range slices.Sorted(maps.Keys(states)) {
		f.Add(0, states[name][head:len(states[name])-4])
	}
	codectest.Fuzz(f, saved(f))
}

// What Decode would refuse is not written, nor what is larger than a record.
func TestCheck(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", largest)
	for _, e := range []Event{
		{Kind: kinds}, {Kind: Known, At: -1}, {Kind: Known, At: math.Inf(1)}, {Kind: Discovered, Verdict: verdicts},
		{Kind: Block, Seconds: math.NaN()}, {Kind: Known, Lag: -1}, {Kind: moved}, {Kind: Gave, Seconds: -1}, {Kind: Purge, Key: long}, {Kind: DeleteCrawl, Crawl: long},
	} {
		_, err := Encode([]Event{e})
		require.ErrorIs(t, err, ErrEvent)
	}
}

// A record that was altered is refused, or gives events.
func FuzzDecode(f *testing.F) {
	record, err := Encode([]Event{
		{Kind: Known, At: 1, Crawl: "c", Key: "k", URL: "u", Meta: "m", Date: 7, Verdict: Changed, Mark: 3, Free: true},
		{Kind: Known, At: 1, Crawl: "c", Key: "k", URL: "u", Date: 7, Lag: 2.5},
		{Kind: Gave, At: 2, Crawl: "c", Seconds: 5, Given: []Turn{{Slot: 1, URLs: []uint32{2, 3}}}},
		{Kind: Limit, At: 3, Crawl: "c", Key: "k", Number: 9}, {Kind: Active, At: 4, On: true}, {Kind: Delay, At: 5, Seconds: 1},
	})
	require.NoError(f, err)
	f.Add(record[:len(record)-4])
	f.Fuzz(func(t *testing.T, body []byte) {
		events, err := Decode(codec.Seal(body))
		if err != nil {
			require.ErrorIs(t, err, codec.ErrCorrupt)
			return
		}
		s := New(knapsack.Detections)
		for i := range events {
			if _, err := s.Apply(&events[i]); err != nil {
				return
			}
		}
	})
}
