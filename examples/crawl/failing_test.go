package main

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
	"github.com/recrawl/recrawl/knapsack"
)

// A host that fails is told of once, and once more when it answers again; a page that fails among others
// is not. What the polls came to is said at the end.
func TestFailuresAreTold(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	down.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/robots.txt":
			http.NotFound(w, r)
		case down.Load() || r.URL.Path == "/none":
			http.Error(w, "no", http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	list := filepath.Join(dir, "list")
	urls := []string{server.URL + "/1", server.URL + "/2", server.URL + "/3", server.URL + "/none"}
	require.NoError(t, os.WriteFile(list, []byte(strings.Join(urls, "\n")), 0o600))
	var log output
	cmd := command("-urls", list, "-state", filepath.Join(dir, "state"), "-user-agent", demoAgent, "-page", "", "-delay", "50ms", "-per-day", "1e7", "-for", "20s")
	cmd.Stdout, cmd.Stderr = io.Discard, &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "polls of a host fail") }, 20*time.Second, time.Millisecond, log.String())
	time.Sleep(500 * time.Millisecond)
	down.Store(false)
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "a host answers again") }, 20*time.Second, time.Millisecond, log.String())
	require.Equal(t, 1, strings.Count(log.String(), "polls of a host fail"))
	require.Contains(t, log.String(), "500 Internal Server Error")
	require.NoError(t, errors.Join(cmd.Process.Signal(os.Interrupt), cmd.Wait()))
	require.Regexp(t, `polls of this run" answered=[1-9]\d* .* failed=[1-9]\d* `, log.String())
}

// What a host sends does not fill the log: neither what nobody asked for nor a header that an error quotes.
func TestHostsDoNotFillTheLog(t *testing.T) {
	t.Parallel()
	const answer = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	var sent atomic.Int32
	serve := func(answer string) (url string) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		t.Cleanup(func() { _ = l.Close() })
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				go func() {
					defer conn.Close()
					for r := bufio.NewReader(conn); ; sent.Add(1) {
						if _, err := http.ReadRequest(r); err != nil {
							return
						}
						_, _ = io.WriteString(conn, answer) // or the next one cannot be read
					}
				}()
			}
		}()
		return "http://" + l.Addr().String()
	}
	twice := serve(answer + answer)
	long := serve("HTTP/1.1 200 OK\r\nContent-Length: " + strings.Repeat("x", 100_000) + "\r\n\r\n")
	dir := t.TempDir()
	list := filepath.Join(dir, "list")
	require.NoError(t, os.WriteFile(list, []byte(twice+"/1\n"+twice+"/2\n"+long+"/\n"), 0o600))
	var log output
	cmd := command("-urls", list, "-state", filepath.Join(dir, "state"), "-user-agent", demoAgent, "-page", "", "-delay", "20ms", "-per-day", "1e7", "-for", "20s")
	cmd.Stdout, cmd.Stderr = io.Discard, &log
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	require.Eventually(t, func() bool { return strings.Contains(log.String(), "polls of a host fail") && sent.Load() > 20 }, 20*time.Second, time.Millisecond, log.String())
	require.NoError(t, errors.Join(cmd.Process.Signal(os.Interrupt), cmd.Wait()))
	require.NotContains(t, log.String(), "Unsolicited response")
	require.Less(t, len(log.String()), 10_000)
}

// A host that fails and answers by turns is told of less and less, until it has answered for long.
func TestFailuresByTurns(t *testing.T) {
	t.Parallel()
	f := newFailures()
	told := func(failures, answers int) (told bool) {
		for range failures {
			f.count(&shard.Event{Kind: shard.Polled, URL: "http://a.test/", Result: shard.Failed})
			told = f.hosts["a.test"].told
		}
		for range answers {
			f.count(&shard.Event{Kind: shard.Polled, URL: "http://a.test/", Result: shard.Unchanged})
		}
		return told
	}
	require.False(t, told(0, 1))
	times := 0
	for range 1000 {
		if told(failingAfter, 1) {
			times++
		}
	}
	require.Equal(t, 1, times)
	require.True(t, told(2*failingAfter, 1))
	require.False(t, told(2*failingAfter, 1))
	require.True(t, told(failingAfter<<mostDoublings, calmAfter+1))
	require.True(t, told(failingAfter, 1), "it was calm")
}

// Hosts of which no page is crawled any more are forgotten.
func TestFailuresAreForgotten(t *testing.T) {
	t.Parallel()
	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	require.NoError(t, err)
	state := shard.NewState(filter)
	n := &session{open: map[int]opened{0: {state: state}}}
	f := newFailures()
	for _, e := range []struct {
		shard.Event
		hosts int
	}{
		{shard.Event{Kind: shard.Add, URL: "http://a.test/1"}, 0},
		{shard.Event{Kind: shard.Add, URL: "http://a.test/2"}, 0},
		{shard.Event{Kind: shard.Polled, URL: "http://a.test/1", Result: shard.First}, 1},
		{shard.Event{Kind: shard.Remove, URL: "http://a.test/1"}, 1},
		{shard.Event{Kind: shard.Remove, URL: "http://a.test/2"}, 0},
	} {
		e.At = time.Now()
		require.NoError(t, state.Apply(&e.Event))
		n.applied(f, 0, &e.Event)
		require.Len(t, f.hosts, e.hosts, e.URL)
	}
}
