package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/webenv/serve"
)

// Whatever the speed, the waits and dates that a crawler is told are by its own clock.
func TestWaits(t *testing.T) {
	t.Parallel()
	for speed, wait := range map[string]float64{"0.1": 60, "0.01": 600} { // six hours of the web
		s, err := parse([]string{"-n", "1", "-faults", "busy=1", "-delay", "10", "-speed", speed}, io.Discard, io.Discard)
		require.NoError(t, err)
		server, err := s.web(s.kinds())
		require.NoError(t, err)
		get := func(path string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			server.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
			return w
		}
		require.Contains(t, get("/robots.txt").Body.String(), "Crawl-delay: 10\n")
		answer := get("/page/0")
		require.Equal(t, 200, answer.Code)
		date, err := http.ParseTime(answer.Header().Get("Date"))
		require.NoError(t, err)
		require.WithinDuration(t, time.Now(), date, 5*time.Second)
		seconds, err := strconv.ParseFloat(get("/page/0").Header().Get("Retry-After"), 64)
		require.NoError(t, err)
		require.InDelta(t, wait, seconds, 5, speed)
	}
}

// A single page is named so.
func TestServeOfOnePage(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	require.NoError(t, run([]string{"-addr", "127.0.0.1:0", "-n", "1", "-for", "1ms"}, io.Discard, &said))
	require.Contains(t, said.String(), "serve: 1 page at ")
}

// The program serves, and then prints how a crawler did that asked for one page of each kind.
func TestServe(t *testing.T) {
	t.Parallel()
	said, says := io.Pipe()
	var out bytes.Buffer
	folder := t.TempDir()
	done := make(chan error, 1)
	go func() {
		done <- run([]string{"-addr", "127.0.0.1:0", "-n", "100", "-for", "10s", "-json", "-delay", "100", "-out", folder}, &out, says)
		_ = says.Close()
	}()
	line := make([]byte, 200)
	n, err := said.Read(line)
	require.NoError(t, err)
	base := regexp.MustCompile(`http://[0-9.:]+`).FindString(string(line[:n]))
	resp, err := http.Get(base + "/truth")
	require.NoError(t, err)
	defer resp.Body.Close()
	var truth serve.Truth
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&truth))
	require.Len(t, truth.Pages, 100)
	client := &http.Client{Timeout: 600 * time.Millisecond}
	asked := map[serve.Faults]bool{}
	for _, page := range truth.Pages {
		var f serve.Faults
		if page.Faults != nil {
			f = *page.Faults
		}
		if asked[f] {
			continue
		}
		asked[f] = true
		if resp, err := client.Get(base + page.URL); err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
	}
	require.Len(t, asked, len(kinds)+1)

	go func() { _, _ = io.Copy(io.Discard, said) }()
	require.NoError(t, <-done)
	require.FileExists(t, filepath.Join(folder, "serve.html"))
	var rows []report.Row
	require.NoError(t, json.Unmarshal(out.Bytes(), &rows))
	requests, pages := 0.0, 0.0
	for _, r := range rows {
		switch r.Quantity {
		case "requests":
			requests += r.Measured.(float64)
			require.Equal(t, 1.0, r.Measured, r.Item)
		case "pages":
			pages += r.Measured.(float64)
		case "requests against a veto":
			require.Equal(t, float64(len(kinds)), r.Measured, "all but the first came too soon")
		}
	}
	require.Equal(t, float64(len(kinds)+1), requests)
	require.Equal(t, 100.0, pages)
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"-n", "0"}, {"-speed", "0"}, {"-speed", "1e-7"}, {"-speed", "1e7"}, {"-for", "-1s"}, {"-size", "-1"}, {"-delay", "-1"}, {"-delay", "NaN"}, {"-faults", "nonce"}, {"-faults", "noise=0.1"},
		{"-faults", "nonce=1.5"}, {"-faults", "nonce=0.1,nonce=0.2"}, {"-faults", "nonce=0.6,clock=0.6"}, {"-faults", "all=0.2"},
		{"-n", "10000001"}, {"-size", "100000001"}, {"-crawl", "-size", "100000001"}, {"-addr", "nope"}, {"-addr", ":99999"},
		{"-crawl", "-n", "10"}, {"-crawl", "-for", "1s"}, {"-crawl", "-out", "pictures"},
	} {
		err := run(args, io.Discard, io.Discard)
		require.True(t, errors.As(err, new(report.UsageError)), "%v: %v", args, err)
	}
	s, err := shares("nonce=0.25,dying=0.5")
	require.NoError(t, err)
	require.Equal(t, []float64{0.25, 0.5}, []float64{s[0], s[len(s)-1]})

	for _, text := range []string{"all=0.01,all=0.02", "nonce=0.5,clock=0.500001"} {
		_, err := shares(text)
		require.ErrorAs(t, err, new(report.UsageError), text)
	}
	_, err = shares("nonce=0.33,clock=0.56,dying=0.11") // 1 and some bits
	require.NoError(t, err)
	for _, text := range []string{"all=0.01,nonce=0.5", "nonce=0.5,all=0.01"} {
		s, err := shares(text)
		require.NoError(t, err)
		require.Equal(t, 0.5, s[0], text)
		for _, share := range s[1:] {
			require.Equal(t, 0.01, share, text)
		}
	}
}
