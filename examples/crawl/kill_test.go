package main

import (
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/demo"
	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
)

var (
	kills     = flag.Int("kills", 2, "times that TestKill kills the crawler; 20 in the long form")
	killPolls = flag.Int("kill-polls", 1500, "polls that TestKill lets it make; 50000 in the long form")
)

// asCrawler is set in a process that is to be the crawler and not a test.
const asCrawler = "RECRAWL_TEST_CRAWL"

func TestMain(m *testing.M) {
	if config := os.Getenv(asServer); config != "" {
		serveNATS(config)
		return
	}
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

const (
	killWorkers   = 8
	answerTimeout = 2 * time.Second // of which a relay leaves some for the way back
)

func crawlArgs(web *demo.Web, list, state string, more ...string) []string {
	if state != "" { // else the servers of -nats keep it
		more = append([]string{"-state", state}, more...)
	}
	return append([]string{
		"-urls", list, "-via", web.Proxy(), "-user-agent", demoAgent, "-per-day", fmt.Sprint(600 * 86400),
		"-delay", "1ms", "-timeout", answerTimeout.String(), "-id-header", demo.IDHeader, "-groups", "4", "-workers", fmt.Sprint(killWorkers), "-keep-log", "-page", "",
		"-objective", "detections", // as the tables of RESULTS.md were made
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
	audit(t, web, engine.Config{Dir: state}, *kills*2*4*killWorkers)
}

func waitFor(t *testing.T, output *output, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("no progress\n%s", output.String())
		}
	}
}
