package shard

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/internal/codec"
)

// asBefore returns events as a version would have them that did not know that ~ and %7E are one.
func asBefore(events []Event) (old []Event) {
	for _, e := range events {
		e.URL = strings.Replace(e.URL, "~", "%7e", 1)
		old = append(old, e)
	}
	return old
}

// What a version kept that spelled URLs in another way goes on under the URLs of now, with what was learnt: by
// a snapshot, by the log, and by both.
func TestRespelled(t *testing.T) {
	t.Parallel()
	events := drawn(600)
	for i := range events {
		events[i].URL = strings.Replace(events[i].URL, ".test/", ".test/~", 1)
	}
	want := newState(t)
	for i := range events {
		e := events[i]
		e.Copy = nil
		apply(t, want, []Event{e})
	}
	for name, snapshot := range map[string]int{"log": 0, "both": 300, "snapshot": 600} {
		e, err := engine.Open(t.Context(), engine.Config{Dir: t.TempDir(), Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		t.Cleanup(e.Close)
		log, err := e.Own(t.Context(), 0)
		require.NoError(t, err)
		before := newState(t)
		apply(t, before, asBefore(events[:snapshot]))
		data, err := before.MarshalBinary()
		require.NoError(t, err)
		require.NoError(t, log.Snapshot(t.Context(), log.Mark(), data))
		if snapshot < len(events) {
			record, err := encode(asBefore(events[snapshot:]))
			require.NoError(t, err)
			require.NoError(t, log.Append(t.Context(), record))
		}
		log, err = e.Own(t.Context(), 0)
		require.NoError(t, err)
		got := newState(t)
		require.NoError(t, Restore(t.Context(), got, log))
		requireSame(t, want, got)
		require.Equal(t, want.staged, got.staged, name)

		// The state of now is saved as it is.
		data, err = got.MarshalBinary()
		require.NoError(t, err)
		again := newState(t)
		require.NoError(t, again.UnmarshalBinary(data))
		requireSame(t, want, again)
	}
}

// Of pages that are one now, one stays.
func TestRespelledTwice(t *testing.T) {
	t.Parallel()
	s := newState(t)
	for _, url := range []string{"http://a.test/%7Eu", "http://a.test/%7eu", "http://a.test/~u", "http://a.test/%c3%a9", "http://a.test/%C3%a9", "http://a.test/?q= 1"} {
		apply(t, s, []Event{{Kind: Add, URL: url, At: begin, Weight: 2}, {Kind: Polled, URL: url, At: begin.Add(time.Hour), Result: First, Copy: []byte{1}}})
	}
	data, err := s.MarshalBinary()
	require.NoError(t, err)
	got := newState(t)
	require.NoError(t, got.UnmarshalBinary(data))
	require.Equal(t, 3, got.Len())
	require.Equal(t, 3, got.Count(Crawled))
	require.Equal(t, 3, got.Learner.Len())
	require.Equal(t, 3, got.Host("a.test").Pages)
	require.EqualValues(t, 2, got.Weight())
	require.Equal(t, []byte{1}, got.Page("http://a.test/~u").Copy())
	require.Nil(t, got.Page("http://a.test/%C3%A9").Copy())
	require.NotNil(t, got.Page("http://a.test/?q=%201"))

	// It is refused as a whole if it contradicts itself.
	require.NoError(t, s.Learner.Remove("http://a.test/%7Eu"))
	data, err = s.MarshalBinary()
	require.NoError(t, err)
	require.ErrorIs(t, got.UnmarshalBinary(data), codec.ErrCorrupt)
	require.Equal(t, 3, got.Learner.Len())
}
