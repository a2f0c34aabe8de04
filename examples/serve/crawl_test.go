package main

import (
	"bytes"
	"encoding/json"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/webenv/serve"
)

// Bytes take every nonce for a change, and spend the budget on them; text and the learnt
// fingerprint do not. No veto is violated, and next to nothing is missed.
func TestCrawl(t *testing.T) {
	t.Parallel()
	s := &settings{Program: report.NewProgram("serve", intro, "", io.Discard, io.Discard), size: 500}
	const polls = 5 * pollsADay
	crawl := func(faults serve.Faults, way int) tally {
		got, err := s.crawlOne(faults, way, polls)
		require.NoError(t, err)
		require.LessOrEqual(t, got.polls, polls)
		require.LessOrEqual(t, percent(got.missed, got.changes), 3.)
		require.Zero(t, got.violations)
		return got
	}
	good := crawl(serve.Faults{}, 0)
	require.Zero(t, good.failed+good.falsely)
	require.Positive(t, good.changes)
	nonce := serve.Faults{Nonce: true}
	hash, text, learnt := crawl(nonce, 0), crawl(nonce, 1), crawl(nonce, 2)
	require.Equal(t, hash.same, hash.falsely)
	require.Greater(t, hash.bad, 4*good.bad)
	require.Zero(t, text.falsely)
	require.Equal(t, good.bad, text.bad)
	require.Less(t, percent(learnt.falsely, learnt.same), 10.)
	busy := crawl(serve.Faults{Busy: 100}, 2)
	require.Positive(t, busy.failed)
	for _, faults := range []serve.Faults{{Silent: 1}, {Cut: 1}, {Unavailable: 1}} {
		never := crawl(faults, 2)
		require.Equal(t, never.bad, never.failed)
		require.Positive(t, never.failed)
		require.Less(t, percent(never.failed, never.polls), 10.)
	}
	require.Zero(t, crawl(serve.Faults{Gzip: true}, 0).falsely)
}

// The command prints five figures for each kind and way.
func TestCrawlCommand(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes ten seconds")
	}
	var out bytes.Buffer
	require.NoError(t, run([]string{"-crawl", "-quick", "-json"}, &out, io.Discard))
	var rows []report.Row
	require.NoError(t, json.Unmarshal(out.Bytes(), &rows))
	require.Len(t, rows, 5*len(ways)*(len(kinds)+1))
}
