package shard

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack"
)

var begin = time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)

func newState(t *testing.T) *State {
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

func apply(t *testing.T, s *State, events []Event) {
	for i := range events {
		require.NoError(t, s.Apply(&events[i]), "event %d: %+v", i, events[i])
	}
}

// requireSame compares all that two states know.
func requireSame(t *testing.T, want, got *State) {
	t.Helper()
	require.Equal(t, want.Totals, got.Totals)
	require.True(t, want.Latest.Equal(got.Latest))
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

// A log gives back the state, with snapshots in between and without.
func TestRestore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	events := drawn(2000)
	want := newState(t)
	apply(t, want, events)
	for part := range 4 {
		e, err := engine.Open(t.Context(), engine.Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		log, err := e.Own(t.Context(), 0)
		require.NoError(t, err)
		s := newState(t)
		require.NoError(t, Restore(t.Context(), s, log))
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
