package main

import (
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
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

var (
	kills     = flag.Int("kills", 2, "times that TestKill kills the crawler; 20 in the long form")
	killPolls = flag.Int("kill-polls", 1500, "polls that TestKill lets it make; 50000 in the long form")
)

// asCrawler is set in a process that is to be the crawler and not a test.
const asCrawler = "RECRAWL_TEST_CRAWL"

func TestMain(m *testing.M) {
	if os.Getenv(asCrawler) != "" {
		if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// command returns the crawler as a process of its own.
func command(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), asCrawler+"=1")
	return cmd
}

// start starts a crawler in a process of its own.
func start(t *testing.T, output io.Writer, args ...string) *exec.Cmd {
	t.Helper()
	cmd := command(args...)
	cmd.Stdout, cmd.Stderr = output, output
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd
}

// misbehaving starts a misbehaving web in real time, in which an hour passes in a second, and
// writes a list of its pages.
func misbehaving(t *testing.T, pages int) (web *demo.Web, list string) {
	t.Helper()
	const perSecond = 0.1 // changes of a page
	web, err := demo.NewWeb(demo.Config{
		Hosts: demo.Behaviours(1. / 3600), Pages: pages, Changes: perSecond * 86400,
		From: time.Now(), Span: time.Hour, Now: time.Now, Patience: 8 * time.Millisecond, Seed: 1,
	})
	require.NoError(t, err)
	t.Cleanup(web.Close)
	list = filepath.Join(t.TempDir(), "urls.txt")
	require.NoError(t, os.WriteFile(list, []byte(strings.Join(web.URLs(), "\n")), 0o600))
	return web, list
}

const killWorkers = 8

func crawlArgs(web *demo.Web, list, state string, more ...string) []string {
	return append([]string{
		"-urls", list, "-state", state, "-via", web.Proxy(), "-user-agent", demoAgent, "-per-day", fmt.Sprint(600 * 86400),
		"-delay", "1ms", "-timeout", "2s", "-id-header", demo.IDHeader, "-groups", "4", "-workers", fmt.Sprint(killWorkers), "-keep-log", "-page", "",
	}, more...)
}

// The crawler is killed at random moments. What the web answered is what the crawler learnt,
// poll by poll, once; only what was under way at a kill is lost. No rule of politeness was
// broken, and the state can be read each time. The long form, with 20 kills in 50,000 polls:
//
//	go test ./examples/crawl -run TestKill -v -kills 20 -kill-polls 50000
func TestKill(t *testing.T) {
	t.Parallel()
	web, list := misbehaving(t, 15)
	state := filepath.Join(t.TempDir(), "state")
	rng := rand.New(rand.NewPCG(1, uint64(*kills)))
	var slowest time.Duration
	for k := 0; k <= *kills; k++ {
		var output output
		cmd := start(t, &output, crawlArgs(web, list, state)...)
		before, began := web.Witness.Polls(), time.Now()
		waitFor(t, &output, func() bool { return web.Witness.Polls() > before })
		slowest = max(slowest, time.Since(began))
		target := *killPolls * (k + 1) / (*kills + 1)
		waitFor(t, &output, func() bool { return web.Witness.Polls() >= target })
		time.Sleep(time.Duration(rng.IntN(50)) * time.Millisecond)
		if k == *kills {
			require.NoError(t, cmd.Process.Signal(os.Interrupt))
			require.NoError(t, cmd.Wait(), output.String())
			break
		}
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
	}
	t.Logf("%d polls, %d kills; the first poll came at most %v after a start", web.Witness.Polls(), *kills, slowest.Round(time.Millisecond))
	audit(t, web, state, *kills)
}

func waitFor(t *testing.T, output *output, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no progress\n%s", output.String())
		}
	}
}

// audit compares the whole log with what the web answered.
func audit(t *testing.T, web *demo.Web, state string, breaks int) {
	t.Helper()
	e, err := engine.Open(t.Context(), engine.Config{Dir: state, KeepLog: true, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	defer e.Close()
	restored, log, err := crawler.Restored(t.Context(), e, 0, knapsack.RateFilterConfig{})
	require.NoError(t, err)

	served := web.Witness.All()
	type copied struct{ version int }
	known := map[string]copied{}
	var learnt, changes, noise, wrong uint64
	require.NoError(t, shard.Events(t.Context(), log, func(v *shard.Event) error {
		if v.Kind != shard.Polled || v.Result == shard.Forbidden {
			return nil
		}
		s, ok := served[v.ID]
		delete(served, v.ID)
		if !ok {
			require.Equal(t, shard.Failed, v.Result, "a poll that the web did not see, or learnt twice: %+v", v)
			return nil
		}
		if v.Result == shard.Failed && v.Status == 0 { // what the web answered did not arrive in time
			return nil
		}
		require.Equal(t, s.Aborted || s.Status >= 400, !v.Result.Answered() && v.Result != shard.First, "%+v, served %+v", v, s)
		if v.Result == shard.Vetoed {
			require.Equal(t, 429, s.Status)
		}
		if s.Aborted || s.Status >= 400 {
			return nil
		}
		before, copies := known[v.URL]
		require.Equal(t, !copies, v.Result == shard.First, "%+v", v)
		changed := copies && s.Version > before.version
		if v.Result.Answered() {
			learnt++
		}
		if v.Result == shard.Changed {
			changes++
		}
		switch {
		case changed != (v.Result == shard.Changed) && noisy(v.URL):
			noise++
		case changed != (v.Result == shard.Changed):
			wrong++
		}
		known[v.URL] = copied{max(before.version, s.Version)}
		return nil
	}))
	require.Zero(t, wrong)
	require.Equal(t, learnt, restored.Learnt)
	require.Equal(t, changes, restored.Changes)
	require.NoError(t, knapsack.With(restored.Learner, func(f *knapsack.RateFilter, _ func(string) (int, error)) error {
		require.Equal(t, learnt, f.Stats().Answers)
		require.Equal(t, changes, f.Stats().Changes)
		return nil
	}))

	// What is left was under way when the crawler was killed.
	window := 2 * 4 * killWorkers
	require.LessOrEqual(t, len(served), breaks*window)
	unheard := 0 // vetoes that died with the crawler
	for _, s := range served {
		if s.Status == 429 {
			unheard++
		}
	}
	totals := web.Totals()
	require.LessOrEqual(t, totals.Violations, unheard)
	require.Zero(t, web.Witness.Trespasses())
	require.Zero(t, web.Witness.Crowded())
	t.Logf("learnt from %d answers, %d changes, %d of them or of the others noise; %d polls lost, %d vetoes among them; %d requests against a veto or a Crawl-delay",
		learnt, changes, noise, len(served), unheard, totals.Violations)
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
