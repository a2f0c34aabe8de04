package main

import (
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/crawler"
	"github.com/recrawl/recrawl/examples/crawl/internal/demo"
	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
	"github.com/recrawl/recrawl/knapsack"
)

// sums are what an audit counts. Late are whole answers for which the crawler did not wait any more.
type sums struct{ learnt, changes, noise, wrong, late uint64 }

// audit compares the whole log of all shards with what the web answered, and with what the learners
// say. It returns the polls that were answered and not learnt: those under way when something
// broke, at most so many.
func audit(t *testing.T, web *demo.Web, cfg engine.Config, most int) (lost []time.Time) {
	t.Helper()
	cfg.KeepLog, cfg.Log = true, slog.New(slog.DiscardHandler)
	e, err := engine.Open(t.Context(), cfg)
	require.NoError(t, err)
	defer e.Close()
	served := web.Witness.All()
	var all sums
	for i := range e.Shards() {
		auditShard(t, e, i, served, &all)
	}
	require.Zero(t, all.wrong)

	require.LessOrEqual(t, len(served), most)
	unheard := int(all.late) // and vetoes that died with the crawler: to the web the next request is too early
	for _, s := range served {
		lost = append(lost, s.At)
		if s.Status == 429 {
			unheard++
		}
	}
	totals := web.Totals()
	require.LessOrEqual(t, totals.Violations, unheard)
	require.Zero(t, web.Witness.Trespasses())
	require.Zero(t, web.Witness.Crowded())
	t.Logf("learnt from %d answers, %d changes, %d of them or of the others noise; %d polls lost, %d vetoes among them; %d answers came too late; %d requests against a veto or a Crawl-delay",
		all.learnt, all.changes, all.noise, len(served), unheard-int(all.late), all.late, totals.Violations)
	return lost
}

// auditShard takes what a shard learnt from what was served.
func auditShard(t *testing.T, e *engine.Engine, number int, served map[uint64]demo.Served, all *sums) {
	t.Helper()
	restored, log, err := crawler.Restored(t.Context(), e, number, knapsack.RateFilterConfig{})
	for begun := time.Now(); errors.Is(err, engine.ErrBusy) && time.Since(begun) < time.Minute; {
		time.Sleep(100 * time.Millisecond) // a node that left, and was not heard by the server, falls silent first
		restored, log, err = crawler.Restored(t.Context(), e, number, knapsack.RateFilterConfig{})
	}
	require.NoError(t, err)
	defer log.Release(t.Context())
	var own sums
	versions := map[string]int{}
	require.NoError(t, shard.Events(t.Context(), log, func(v *shard.Event) error {
		if v.Kind != shard.Polled || v.Result == shard.Forbidden {
			return nil
		}
		s, ok := served[v.ID]
		delete(served, v.ID)
		if !ok {
			unreached := v.Result == shard.Failed || v.Result == shard.Vetoed && v.Status == 0 // it, or its robots.txt
			require.True(t, unreached, "a poll that the web did not see, or learnt twice: %+v", v)
			return nil
		}
		if v.Result == shard.Failed && (v.Status == 0 || v.Took >= answerTimeout*8/10) { // what the web answered did not arrive in time, or not all of it
			if !s.Aborted {
				own.late++
			}
			return nil
		}
		require.Equal(t, s.Aborted || s.Status >= 400, !v.Result.Answered() && v.Result != shard.First, "%+v, served %+v", v, s)
		if v.Result == shard.Vetoed {
			require.Equal(t, 429, s.Status)
		}
		if s.Aborted || s.Status >= 400 {
			return nil
		}
		before, copies := versions[v.URL]
		require.Equal(t, !copies, v.Result == shard.First, "%+v", v)
		changed := copies && s.Version > before
		if v.Result.Answered() {
			own.learnt++
		}
		if v.Result == shard.Changed {
			own.changes++
		}
		switch {
		case changed != (v.Result == shard.Changed) && noisy(v.URL):
			own.noise++
		case changed != (v.Result == shard.Changed):
			own.wrong++
		}
		versions[v.URL] = max(before, s.Version)
		return nil
	}))
	require.Equal(t, own.learnt, restored.Learnt)
	require.Equal(t, own.changes, restored.Changes)
	require.NoError(t, knapsack.With(restored.Learner, func(f *knapsack.RateFilter, _ func(string) (int, error)) error {
		require.Equal(t, own.learnt, f.Stats().Answers)
		require.Equal(t, own.changes, f.Stats().Changes)
		return nil
	}))
	all.learnt += own.learnt
	all.changes += own.changes
	all.noise += own.noise
	all.wrong += own.wrong
	all.late += own.late
}

// noisy reports whether the host has pages that have to be learnt.
func noisy(url string) bool {
	for _, name := range []string{"//clock.", "//nonce.", "//ads."} {
		if strings.Contains(url, name) {
			return true
		}
	}
	return false
}
