package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/internal/upgrade"
	"github.com/recrawl/recrawl/webenv"
)

func TestMain(m *testing.M) {
	if os.Getenv("RELEASES_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// today is when the tests run.
var today = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// A web is a module proxy with answers in turn for each path, of which the last one stays, and a
// clock that goes only where somebody waits.
type web struct {
	*httptest.Server
	answers map[string][]answer
	asking  func(path string) // if not nil, before each answer

	mu          sync.Mutex
	asked       map[string]int
	agent       string
	connections int
	now         time.Time
	waits       []time.Duration
}

// An answer has status 200 if it has none. After status -1 the connection is lost within the body.
type answer struct {
	body       string
	status     int
	retryAfter string
}

func newWeb(t *testing.T, answers map[string][]answer) *web {
	w := &web{answers: answers, asked: map[string]int{}, now: today}
	w.Server = httptest.NewUnstartedServer(w)
	w.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.connections++
		}
	}
	w.Start()
	t.Cleanup(w.Close)
	return w
}

// set sets the answers for a path. Requests of a run that ended with an error may still be there.
func (w *web) set(path string, answers []answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers[path] = answers
}

// module adds a module: pairs of versions and when they were released.
func (w *web) module(path string, releases ...string) {
	list := ""
	for k := 0; k < len(releases); k += 2 {
		list += releases[k] + "\n"
		w.set("/"+path+"/@v/"+releases[k]+".info", []answer{{body: info(releases[k], releases[k+1])}})
	}
	w.set("/"+path+"/@v/list", []answer{{body: list}})
}

func info(version, at string) string {
	return fmt.Sprintf(`{"Version":%q,"Time":%q,"Origin":{"VCS":"git"}}`, version, at)
}

func (w *web) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if w.asking != nil {
		w.asking(path)
	}
	w.mu.Lock()
	w.asked[path]++
	w.agent = r.UserAgent()
	n, answers, date := w.asked[path], w.answers[path], w.now
	w.mu.Unlock()
	if len(answers) == 0 {
		http.NotFound(rw, r)
		return
	}
	a := answers[min(n, len(answers))-1]
	if a.status == -1 {
		rw.Header().Set("Content-Length", "1000")
		_, _ = io.WriteString(rw, "v1.0.0")
		_ = http.NewResponseController(rw).Flush()
		panic(http.ErrAbortHandler)
	}
	rw.Header().Set("Date", date.Add(time.Hour).UTC().Format(http.TimeFormat)) // a clock that is wrong
	if a.retryAfter != "" {
		rw.Header().Set("Retry-After", a.retryAfter)
	}
	if a.status != 0 {
		rw.WriteHeader(a.status)
	}
	_, _ = io.WriteString(rw, a.body)
}

// requests returns how often each path was asked for.
func (w *web) requests() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.asked)
}

// wait waits without taking time.
func (w *web) wait(ctx context.Context, d time.Duration) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
	w.waits = append(w.waits, d)
	return context.Cause(ctx)
}

func (w *web) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// download runs the program on the web with a list of modules on standard input, if there is one.
func (w *web) download(t *testing.T, ctx context.Context, modules string, args ...string) (out, said string, err error) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args = append([]string{"-proxy", w.URL}, args...)
	if modules != "" {
		args = append(args, "-modules", "-")
	}
	s, err := parse(args, &stdout, &stderr)
	require.NoError(t, err)
	s.stdin = strings.NewReader(modules)
	s.env = func(context.Context) (environment, error) {
		t.Error("go env is not needed")
		return environment{}, nil
	}
	s.serve = func(base *url.URL) *proxy {
		p := newProxy(base)
		p.now, p.wait = w.clock, w.wait
		return p
	}
	paths, base, err := s.sources(ctx)
	if err == nil {
		err = s.download(ctx, paths, base)
	}
	return stdout.String(), stderr.String(), err
}

// Releases are sorted, to the second, each second once in a page, of the last days only. The last
// release counts as the end.
func TestHistory(t *testing.T) {
	t.Parallel()
	w := newWeb(t, map[string][]answer{})
	w.module("a.test/b", "v1.10.0", "2026-01-10T00:00:00Z", "v1.2.0", "2026-01-02T01:00:00+01:00", "v1.9.0", "2026-01-05T00:00:00.75Z",
		"v1.9.0-rc.1", "2026-01-05T00:00:00.25Z", "v1.1.0", "2026-01-01T23:59:59Z", "v2.0.0+incompatible", "2026-01-12T00:00:00Z")
	w.module("a.test/a", "v0.0.1", "2020-01-01T00:00:00Z")
	w.module("a.test/c")
	for k := range 5 { // five in a second, which is a crowd
		w.module(fmt.Sprint("a.test/d", k), "v1.0.0", "2026-01-11T00:00:00Z")
	}
	const modules = "a.test/c\n\n# all of them\na.test/b v1.2.0 => ./b\na.test/a@v0.0.1\na.test/b\na.test/d0\na.test/d1\na.test/d2\na.test/d3\na.test/d4\n"
	const want = "a.test/a\na.test/b,1767312000,1767571200,1768003200,1768176000\na.test/c\n" +
		"a.test/d0,1768089600\na.test/d1,1768089600\na.test/d2,1768089600\na.test/d3,1768089600\na.test/d4,1768089600\n"

	out, said, err := w.download(t, t.Context(), modules, "-days", "10")
	require.NoError(t, err)
	require.Equal(t, want, out)
	require.Equal(t, `releases: 8 modules with 9 releases in 10 days, 2026-01-02 to 2026-01-12
releases: 2 modules without a release; 55.6 % of the releases share their second with four others or more
releases: 1.33 polls an hour are 40 polls of each module in that time:
  go run ./examples/recrawl -trace FILE -budget 1.33
`, said)
	w.mu.Lock()
	require.Equal(t, userAgent, w.agent)
	w.mu.Unlock()
	require.Empty(t, w.waits)
	for path, n := range w.requests() {
		require.Equal(t, 1, n, path)
	}

	// In a file, with the summary for machines.
	file := filepath.Join(t.TempDir(), "it's releases.csv")
	_, said, err = w.download(t, t.Context(), modules, "-days", "10", "-out", file)
	require.NoError(t, err)
	require.Contains(t, said, `-trace '`+filepath.Dir(file)+`/it'\''s releases.csv' -budget 1.33`)
	out, said, err = w.download(t, t.Context(), modules, "-days", "10", "-out", file, "-json")
	require.NoError(t, err)
	require.Empty(t, said)
	written, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, want, string(written))
	var rows []report.Row
	require.NoError(t, json.Unmarshal([]byte(out), &rows))
	measured := map[string]any{}
	for _, r := range rows {
		measured[r.Quantity+", "+r.Unit] = r.Measured
	}
	require.Equal(t, map[string]any{
		"modules, modules": 8.0, "releases, releases": 9.0, "time from the first to the last, days": 10.0,
		"releases that share their second with four others or more, of all, 1": 5 / 9.,
		"modules without a release, modules":                                   2.0, "modules not served, modules": 0.0,
		"modules of which versions are missing, modules": 0.0, "versions left out, versions": 0.0,
		"budget that is 40 polls of each module, polls per hour": 1.33,
	}, measured)

	h, err := webenv.ReadHistory(strings.NewReader(want), "want")
	require.NoError(t, err)
	require.Equal(t, 8, h.Len())
}

// -versions takes the latest by their order and says of which modules there are others.
func TestVersions(t *testing.T) {
	t.Parallel()
	w := newWeb(t, map[string][]answer{})
	w.module("a.test/a", "v1.10.0", "2026-01-10T00:00:00Z", "v1.9.0", "2026-01-09T00:00:00Z", "v1.8.0", "2026-01-08T00:00:00Z")
	w.module("a.test/b", "v1.10.0", "2026-01-10T00:00:00Z", "v1.9.0", "2025-01-09T00:00:00Z", "v1.8.0", "2025-01-08T00:00:00Z")
	w.module("a.test/c", "v1.10.0", "2026-01-10T00:00:00Z", "v1.9.0", "2026-01-09T00:00:00Z")
	out, said, err := w.download(t, t.Context(), "a.test/a\na.test/b\na.test/c", "-versions", "2", "-days", "30")
	require.NoError(t, err)
	require.Equal(t, "a.test/a,1767916800,1768003200\na.test/b,1768003200\na.test/c,1767916800,1768003200\n", out)
	require.Contains(t, said, "releases: 2 modules with more than 2 versions, of which those of lower numbers are missing: -versions: a.test/a, a.test/b\n")
	require.NotContains(t, w.requests(), "/a.test/a/@v/v1.8.0.info")

	// All at one time is a history, but none to replay.
	_, said, err = w.download(t, t.Context(), "a.test/a", "-versions", "1")
	require.NoError(t, err)
	require.Contains(t, said, "releases: all at the same time")
	require.Contains(t, said, "releases: 1 module with more than 1 version, of which")
	_, said, err = w.download(t, t.Context(), "a.test/c")
	require.NoError(t, err)
	require.Contains(t, said, "releases: 1 module with 2 releases in 1 day, 2026-01-09 to 2026-01-10\n")
}

// Capital letters are escaped, in paths and in versions.
func TestEscaping(t *testing.T) {
	t.Parallel()
	w := newWeb(t, map[string][]answer{
		"/goproxy/github.com/!burnt!sushi/toml/@v/list":               {{body: "v1.0.0-RC.1\nv2.0.0+incompatible\n"}},
		"/goproxy/github.com/!burnt!sushi/toml/@v/v1.0.0-!r!c.1.info": {{body: info("v1.0.0-RC.1", "2026-01-01T00:00:00Z")}},
		"/goproxy/github.com/!burnt!sushi/toml/@v/v2.0.0+incompatible.info": {
			{body: info("v2.0.0+incompatible", "2026-01-02T00:00:00Z")}},
	})
	w.URL += "/goproxy/"
	out, _, err := w.download(t, t.Context(), "github.com/BurntSushi/toml")
	require.NoError(t, err)
	require.Equal(t, "github.com/BurntSushi/toml,1767225600,1767312000\n", out)
}

// What is not served is named and left out, and is no error unless it is all.
func TestUnserved(t *testing.T) {
	t.Parallel()
	w := newWeb(t, map[string][]answer{
		"/a.test/gone/@v/list":             {{status: 410}},
		"/a.test/forbidden/@v/list":        {{status: 403}},
		"/a.test/illegal/@v/list":          {{status: 451}},
		"/a.test/retracted/@v/list":        {{body: "v1.0.0\nv1.1.0\n"}},
		"/a.test/retracted/@v/v1.0.0.info": {{body: info("v1.0.0", "2026-01-01T00:00:00Z")}},
	})
	out, said, err := w.download(t, t.Context(), "a.test/gone\na.test/missing\na.test/forbidden\na.test/illegal\na.test/retracted")
	require.NoError(t, err)
	require.Equal(t, "a.test/retracted,1767225600\n", out)
	require.Contains(t, said, "releases: 4 modules not served by "+w.URL+": a.test/forbidden, a.test/gone, a.test/illegal, a.test/missing\n")
	require.Contains(t, said, "releases: 1 version left out, in the list but not served: a.test/retracted@v1.1.0\n")
	require.Empty(t, w.waits)
	for path, n := range w.requests() {
		require.Equal(t, 1, n, path)
	}

	out, said, err = w.download(t, t.Context(), "a.test/gone")
	require.EqualError(t, err, "the proxy serves no version of any module: there is no history")
	require.Empty(t, out)
	require.Contains(t, said, "a.test/gone")
}

// Trouble that passes is waited for: errors of the server, a connection that is closed, an answer
// that is cut.
func TestTriesAgain(t *testing.T) {
	t.Parallel()
	fine := answer{body: info("v1.0.0", "2026-01-01T00:00:00Z")}
	for name, first := range map[string][]answer{
		"500": {{status: 500}}, "503": {{status: 503}}, "429": {{status: 429}}, "closed": {{status: -1}},
		"cut": {{body: fine.body[:30]}}, "empty": {{}}, "four": {{status: 500}, {status: -1}, {body: "{"}, {status: 502}},
	} {
		w := newWeb(t, map[string][]answer{
			"/a.test/a/@v/list":        append(slices.Clone(first), answer{body: "v1.0.0\n"}),
			"/a.test/a/@v/v1.0.0.info": append(slices.Clone(first), fine),
		})
		if name == "cut" || name == "empty" || name == "four" {
			w.set("/a.test/a/@v/list", []answer{{body: "v1.0.0\n"}})
		}
		out, _, err := w.download(t, t.Context(), "a.test/a")
		require.NoError(t, err, name)
		require.Equal(t, "a.test/a,1767225600\n", out, name)
		require.Equal(t, len(first)+1, w.requests()["/a.test/a/@v/v1.0.0.info"], name)
		if name == "four" {
			require.Equal(t, []time.Duration{time.Second / 2, time.Second, 2 * time.Second, 4 * time.Second}, w.waits)
		}
	}
}

// Trouble that stays ends the program; the file of before stays too.
func TestGivesUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer
		asked int
		says  string
	}{
		{answer{status: 500}, attempts, "the answer is 500 Internal Server Error"},
		{answer{status: -1}, attempts, "EOF"},
		{answer{status: 401}, 1, "the answer is 401 Unauthorized"},
		{answer{status: 429, retryAfter: "3600"}, 1, "the answer is 429 Too Many Requests, and to try again after 1h0m0s"},
		{answer{status: 429, retryAfter: "99999999999999999999"}, 1, "and to try again after 596523h14m7s"},
		{answer{body: strings.Repeat(" ", longestInfo+1)}, 1, "the answer has more than 262144 bytes"},
	} {
		w := newWeb(t, map[string][]answer{
			"/a.test/a/@v/list": {{body: "v1.0.0\nv1.1.0\n"}}, "/a.test/a/@v/v1.1.0.info": {c.answer},
			"/a.test/a/@v/v1.0.0.info": {{body: info("v1.0.0", "2026-01-01T00:00:00Z")}},
		})
		file := filepath.Join(t.TempDir(), "releases.csv")
		require.NoError(t, os.WriteFile(file, []byte("before"), 0o600))
		out, _, err := w.download(t, t.Context(), "a.test/a", "-out", file)
		require.ErrorContains(t, err, w.URL+"/a.test/a/@v/v1.1.0.info: ")
		require.ErrorContains(t, err, c.says)
		require.Equal(t, c.asked, w.requests()["/a.test/a/@v/v1.1.0.info"], c.says)
		require.Empty(t, out)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, "before", string(text))
		there, err := os.ReadDir(filepath.Dir(file))
		require.NoError(t, err)
		require.Len(t, there, 1)
	}
}

// A proxy that switches to another protocol, which nobody asked for, does not hold the program up.
func TestSwitchesProtocols(t *testing.T) {
	t.Parallel()
	w := newWeb(t, map[string][]answer{})
	w.Config.Handler = http.HandlerFunc(upgrade.Silent)
	ended := make(chan error, 1)
	go func() {
		_, _, err := w.download(t, t.Context(), "a.test/a")
		ended <- err
	}()
	select {
	case err := <-ended:
		require.ErrorContains(t, err, "the answer is 101 Switching Protocols")
	case <-time.After(10 * time.Second):
		require.Fail(t, "it does not end")
	}
}

// A proxy that cannot be reached is tried as often, and named once.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	w := newWeb(t, nil)
	w.Close()
	_, _, err := w.download(t, t.Context(), "a.test/a")
	require.ErrorContains(t, err, w.URL+"/a.test/a/@v/list: ")
	require.Equal(t, 1, strings.Count(err.Error(), "a.test"), err)
	require.Len(t, w.waits, attempts-1)
}

// A Retry-After is a number of seconds or a date by the server's clock, and counts for all that is
// asked for.
func TestRetryAfter(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]string{
		"seconds": "90", "date": today.Add(time.Hour + 90*time.Second).Format(http.TimeFormat),
	} {
		w := newWeb(t, map[string][]answer{})
		w.module("a.test/a", "v1.0.0", "2026-01-01T00:00:00Z", "v1.1.0", "2026-01-02T00:00:00Z")
		w.set("/a.test/a/@v/list", append([]answer{{status: 429, retryAfter: after}}, w.answers["/a.test/a/@v/list"]...))
		_, _, err := w.download(t, t.Context(), "a.test/a")
		require.NoError(t, err)
		require.Equal(t, []time.Duration{time.Second / 2, 90*time.Second - time.Second/2}, w.waits, name)
	}

	w := newWeb(t, map[string][]answer{})
	p := newProxy(new(url.URL))
	p.now, p.wait = w.clock, w.wait
	header := http.Header{"Retry-After": {"20"}}
	require.ErrorAs(t, p.later(&http.Response{Status: "429", Header: header}), new(passing))
	header.Set("Retry-After", "10")
	require.ErrorAs(t, p.later(&http.Response{Status: "429", Header: header}), new(passing))
	require.NoError(t, p.turn(t.Context()))
	require.Equal(t, []time.Duration{20 * time.Second}, w.waits)
	for _, none := range []string{"", "-1", "soon", "1.5", today.Add(-time.Hour).Format(http.TimeFormat)} {
		require.Zero(t, retryAfter(http.Header{"Retry-After": {none}}, today), none)
	}
}

// Versions with a time that cannot be are left out.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	bad := map[string]string{
		"v1.0.1": info("v1.0.1", "yesterday"), "v1.0.2": info("v1.0.2", ""), "v1.0.3": info("v1.0.4", "2026-01-01T00:00:00Z"),
		"v1.0.5": info("v1.0.5", "0001-01-01T00:00:00Z"), "v1.0.6": `{"Version":"v1.0.6","Time":1767225600}`, "v1.0.7": `[]`,
		"v1.0.8": `{"Version":"v1.0.8","Ti`, "v1.0.9": "<html>",
	}
	w := newWeb(t, map[string][]answer{})
	w.module("a.test/a", "v1.0.0", "2026-01-01T00:00:00Z", "v1.1.0", "2026-07-02T12:00:00Z", "v1.2.0", "2026-07-02T12:00:31Z")
	list := &w.answers["/a.test/a/@v/list"][0]
	for name, body := range bad {
		list.body += name + "\n"
		w.set("/a.test/a/@v/"+name+".info", []answer{{body: body}})
	}
	list.body = "v1.2\n<html>\nlatest\nV1.0.0\n" + strings.ReplaceAll(list.body, "\n", " 2026-01-01T00:00:00Z\r\n")
	out, said, err := w.download(t, t.Context(), "a.test/a")
	require.NoError(t, err)
	require.Equal(t, "a.test/a,1767225600,1782993600\n", out)
	require.Contains(t, said, "releases: 8 versions left out, without a time that can be read: a.test/a@v1.0.1, a.test/a@v1.0.2, a.test/a@v1.0.3, a.test/a@v1.0.5,")
	require.Contains(t, said, "releases: 1 version left out, of a time to come: a.test/a@v1.2.0\n")
	require.NotContains(t, said, "in the list but not served", "v1.2 is no version")
	// Only what may have been cut is asked for again.
	for name := range bad {
		want := 1
		if name == "v1.0.8" || name == "v1.0.9" {
			want = attempts
		}
		require.Equal(t, want, w.requests()["/a.test/a/@v/"+name+".info"], name)
	}
}

// A page that is no list of versions ends the program; an empty list is one.
func TestNoList(t *testing.T) {
	t.Parallel()
	w := newWeb(t, map[string][]answer{"/a.test/b/@v/list": {{body: "\n<!DOCTYPE html>\n<title>Please log in to the network</title>\n"}}})
	w.module("a.test/a", "v1.0.0", "2026-01-01T00:00:00Z")
	_, _, err := w.download(t, t.Context(), "a.test/a\na.test/b")
	require.EqualError(t, err, w.URL+`/a.test/b/@v/list: the answer is no list of versions; it begins with "<!DOCTYPE html>\n<title>Please log in to "`)
	w.set("/a.test/b/@v/list", []answer{{body: "\n"}})
	out, _, err := w.download(t, t.Context(), "a.test/a\na.test/b")
	require.NoError(t, err)
	require.Equal(t, "a.test/a,1767225600\na.test/b\n", out)
}

// Pseudo-versions are no releases, and a module that has only those is a page without changes.
func TestPseudoVersions(t *testing.T) {
	t.Parallel()
	w := newWeb(t, map[string][]answer{})
	const at = "2026-01-01T00:00:00Z"
	w.module("a.test/a", "v0.0.0-20260908205506-85c1c2202aba", at, "v1.2.1-0.20260908205506-85c1c2202aba", at)
	w.module("a.test/b", "v1.0.0", at)
	out, said, err := w.download(t, t.Context(), "a.test/a\na.test/b")
	require.NoError(t, err)
	require.Equal(t, "a.test/a\na.test/b,1767225600\n", out)
	require.Contains(t, said, "releases: 1 module without a release")
	require.Len(t, w.requests(), 3)

	_, _, err = w.download(t, t.Context(), "a.test/a")
	require.EqualError(t, err, "no module has a release: there is no history")
}

// Of a huge list the latest versions are asked for, over a few connections.
func TestHugeList(t *testing.T) {
	t.Parallel()
	var list strings.Builder
	want := "a.test/a"
	w := newWeb(t, map[string][]answer{})
	for k := range 100_000 {
		fmt.Fprintf(&list, "v0.%d.0\n", k)
		if name := fmt.Sprintf("v0.%d.0", k); k >= 100_000-300 {
			w.set("/a.test/a/@v/"+name+".info", []answer{{body: info(name, time.Unix(int64(1.7e9)+int64(k), 0).UTC().Format(time.RFC3339))}})
			want += fmt.Sprintf(",%d", int64(1.7e9)+int64(k))
		}
	}
	w.set("/a.test/a/@v/list", []answer{{body: list.String()}})
	w.asking = func(string) { time.Sleep(time.Millisecond) } // has all connections in use
	out, _, err := w.download(t, t.Context(), "a.test/a", "-versions", "300")
	require.NoError(t, err)
	require.Equal(t, want+"\n", out)
	require.Len(t, w.requests(), 301)
	w.mu.Lock()
	defer w.mu.Unlock()
	require.LessOrEqual(t, w.connections, 3*together) // some are opened, and not needed any more
}

// A list without an end is refused.
func TestEndlessList(t *testing.T) {
	t.Parallel()
	w := newWeb(t, map[string][]answer{})

	w.set("/a.test/a/@v/list", []answer{{body: strings.Repeat("v1.0.0\n", longestList/7+1)}})
	_, _, err := w.download(t, t.Context(), "a.test/a")
	require.ErrorContains(t, err, "/a.test/a/@v/list: the answer has more than 4194304 bytes")
}

// A few requests are under way at the same time, and no more.
func TestTogether(t *testing.T) {
	t.Parallel()
	w := newWeb(t, map[string][]answer{})
	modules := ""
	for k := range 3 * together {
		path := fmt.Sprint("a.test/", k)
		w.module(path, "v1.0.0", "2026-01-01T00:00:00Z")
		modules += path + "\n"
	}
	var mu sync.Mutex
	under, peak := 0, 0
	full := make(chan struct{})
	w.asking = func(string) {
		mu.Lock()
		under++
		if peak = max(peak, under); under == together {
			select {
			case <-full:
			default:
				close(full)
			}
		}
		mu.Unlock()
		select {
		case <-full:
		case <-time.After(10 * time.Second): // the peak then says what is wrong
		}
		time.Sleep(time.Millisecond) // lets one too many come
		mu.Lock()
		under--
		mu.Unlock()
	}
	_, _, err := w.download(t, t.Context(), modules)
	require.NoError(t, err)
	require.Equal(t, together, peak)
}

// A context that ends stops what is under way, at once, and nothing is written.
func TestCancelled(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"/a.test/a/@v/list", "/a.test/a/@v/v1.0.0.info"} {
		w := newWeb(t, map[string][]answer{})
		w.module("a.test/a", "v1.0.0", "2026-01-01T00:00:00Z")
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		var late atomic.Bool
		w.asking = func(path string) {
			if path != at {
				return
			}
			cancel()
			select {
			case <-ended:
			case <-time.After(10 * time.Second):
				late.Store(true)
			}
		}
		file := filepath.Join(t.TempDir(), "releases.csv")
		_, _, err := w.download(t, ctx, "a.test/a", "-out", file)
		close(ended)
		require.False(t, late.Load(), "the answer was waited for")
		require.LessOrEqual(t, len(w.waits), 1)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "stopped before the end")
		require.LessOrEqual(t, w.requests()[at], 1)
		require.NoFileExists(t, file)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, wait(ctx, time.Hour), context.Canceled)
	require.NoError(t, wait(t.Context(), 1))
}

// A signal ends the program while it waits for a list of modules, too.
func TestInterruptedWhileItReads(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("has no such signal")
	}
	cmd := exec.Command(os.Args[0], "-modules", "-", "-proxy", "http://proxy.test")
	cmd.Env = append(os.Environ(), "RELEASES_MAIN=1")
	_, err := cmd.StdinPipe() // that stays open
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	time.Sleep(500 * time.Millisecond) // it has begun to read
	sig := os.Signal(os.Interrupt)
	if signal.Ignored(sig) { // as in what a script began in the background
		sig = syscall.SIGTERM
	}
	require.NoError(t, cmd.Process.Signal(sig))
	select {
	case err := <-ended:
		require.ErrorContains(t, err, "signal: "+sig.String())
	case <-time.After(10 * time.Second):
		require.NoError(t, cmd.Process.Kill())
		t.Fatal("it goes on")
	}
}

// What is written does not depend on the order of anything.
func TestSameInAnyOrder(t *testing.T) {
	t.Parallel()
	outs := map[string]int{}
	for seed := range uint64(6) {
		rng := rand.New(rand.NewPCG(seed, 0))
		w := newWeb(t, map[string][]answer{})
		var modules []string
		for m := range 12 {
			var releases [][2]string
			for k := range m {
				releases = append(releases, [2]string{fmt.Sprintf("v1.%d.0", k), today.AddDate(0, 0, -(k*k+m)%97).Format(time.RFC3339)})
			}
			rng.Shuffle(len(releases), func(i, j int) { releases[i], releases[j] = releases[j], releases[i] })
			var flat []string
			for _, r := range releases {
				flat = append(flat, r[0], r[1])
			}
			path := fmt.Sprint("a.test/", m)
			w.module(path, flat...)
			modules = append(modules, path)
		}
		rng.Shuffle(len(modules), func(i, j int) { modules[i], modules[j] = modules[j], modules[i] })
		var mu sync.Mutex
		w.asking = func(string) {
			mu.Lock()
			d := time.Duration(rng.IntN(2000)) * time.Microsecond
			mu.Unlock()
			time.Sleep(d)
		}
		out, said, err := w.download(t, t.Context(), strings.Join(modules, "\n"), "-versions", "9", "-days", "80")
		require.NoError(t, err)
		outs[out+said]++
	}
	require.Len(t, outs, 1)
}

// Where modules come from.
func TestModules(t *testing.T) {
	t.Parallel()
	paths, err := readSum("go.sum", []byte("a.test/b v1.0.0 h1:abc=\na.test/b v1.0.0/go.mod h1:abc=\na.test/A v1.0.0/go.mod h1:abc=\n"))
	require.NoError(t, err)
	require.Equal(t, []string{"a.test/b", "a.test/b", "a.test/A"}, paths)

	paths, err = readMod("go.mod", []byte(`module a.test/main
go 1.26
require (
	a.test/b v1.0.0
	a.test/c v1.0.0 // indirect
	a.test/d v1.0.0
	a.test/e v1.0.0
	a.test/f v1.0.0
)
replace a.test/c => ../c
replace a.test/d v1.0.0 => b.test/d v1.2.0
replace a.test/e v1.1.0 => b.test/e v1.2.0
replace a.test/f => ../f
replace a.test/f v1.0.0 => b.test/f v1.2.0
replace a.test/f v1.1.0 => c.test/f v1.2.0
`))
	require.NoError(t, err)
	require.Equal(t, []string{"a.test/b", "b.test/d", "a.test/e", "b.test/f"}, paths)

	for _, read := range []func(string, []byte) ([]string, error){readSum, readList} {
		paths, err := read("f", []byte("\ufeffa.test/b v1.0.0 h1:abc=\r\n"))
		require.NoError(t, err)
		require.Equal(t, []string{"a.test/b"}, paths)
	}

	for _, c := range []struct {
		read func(string, []byte) ([]string, error)
		text string
		says string
	}{
		{readSum, "a.test/b v1.0.0 h1:abc=\na.test/b v1.0.0\n", "f:2: want a line of a go.sum"},
		{readSum, "module a.test/b\n", "f:1: want a line of a go.sum"},
		{readList, "\na.test/b\n../b\n", "f:3: malformed module path"},
		{readList, "a.test/b,c", "f:1: malformed module path"},
		{readMod, "require a.test/b\n", "f:1: "},
	} {
		_, err := c.read("f", []byte(c.text))
		require.ErrorContains(t, err, c.says)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "-")
	require.NoError(t, os.WriteFile(file, []byte("\n# none\n"), 0o600))
	_, err = modulesOf(file, nil, readList)
	require.EqualError(t, err, file+" names no module")
	_, err = modulesOf(filepath.Join(dir, "missing"), nil, readList)
	require.ErrorIs(t, err, os.ErrNotExist)
}

// The environment names the proxy, the modules that are nobody's business, and the go.sum.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]string{
		"https://one.test,direct":                           "https://one.test",
		"file:///cache|http://two.test/go,https://one.test": "http://two.test/go", "direct, https://one.test": "https://one.test",
	} {
		u, err := environment{GOPROXY: list}.proxy()
		require.NoError(t, err)
		require.Equal(t, want, u.String())
	}
	_, err := environment{GOPROXY: "off"}.proxy()
	require.ErrorContains(t, err, "GOPROXY=off forbids downloads")
	for _, none := range []string{"", "direct", "file:///cache,direct"} {
		_, err = environment{GOPROXY: none}.proxy()
		require.ErrorContains(t, err, "GOPROXY="+none+" names no proxy")
	}

	dir := t.TempDir()
	mod := filepath.Join(dir, "go.mod")
	require.Equal(t, "", environment{GOMOD: mod}.sum())
	require.Equal(t, "", environment{GOMOD: os.DevNull}.sum())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), []byte("a.test/b v1.0.0 h1:abc=\nsecret.test/b v1.0.0 h1:abc=\n"), 0o600))
	require.Equal(t, filepath.Join(dir, "go.sum"), environment{GOMOD: mod}.sum())

	var messages bytes.Buffer
	s, err := parse(nil, io.Discard, &messages)
	require.NoError(t, err)
	s.env = func(context.Context) (environment, error) {
		return environment{GOPROXY: "https://user:word@one.test", GONOPROXY: "x.test,secret.test", GOMOD: mod}, nil
	}
	paths, base, err := s.sources(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"a.test/b"}, paths)
	require.Equal(t, "https://user:word@one.test", base.String())
	require.Equal(t, "releases: 1 module not asked for, as GONOPROXY has it: secret.test/b\n", messages.String())
	s.proxy = "https://one.test"
	paths, _, err = s.sources(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"a.test/b", "secret.test/b"}, paths)

	s.env = func(context.Context) (environment, error) { return environment{}, nil }
	_, _, err = s.sources(t.Context())
	require.ErrorAs(t, err, new(report.UsageError))
	s.sum = filepath.Join(dir, "go.mod")
	require.NoError(t, os.WriteFile(s.sum, []byte("module a.test/main\nrequire a.test/c v1.0.0\n"), 0o600))
	paths, _, err = s.sources(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{"a.test/c"}, paths)
}

// The go command says where the proxy is; it asks nobody.
func TestGoEnv(t *testing.T) {
	t.Parallel()
	e, err := goEnv(t.Context())
	require.NoError(t, err)
	require.Equal(t, "go.mod", filepath.Base(e.GOMOD))
}

// Passwords are not printed.
func TestPassword(t *testing.T) {
	t.Parallel()
	w := newWeb(t, map[string][]answer{"/a.test/b/@v/list": {{status: 401}}, "/a.test/d/@v/list": {{status: -1}}})
	w.URL = strings.Replace(w.URL, "http://", "http://user:word@", 1)
	for _, modules := range []string{"a.test/b", "a.test/c", "a.test/d"} {
		_, said, err := w.download(t, t.Context(), modules)
		require.Error(t, err)
		require.NotContains(t, said+err.Error(), ":word")
		require.Contains(t, said+err.Error(), "user:xxxxx@")
	}
	for _, bad := range []string{"https://user:word@one.test:x", "ftp://user:word@one.test"} {
		_, err := proxyURL(bad)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "word")
	}
}

// -out is looked at before anything is asked for. What is no regular file is written to, and not
// replaced.
func TestOut(t *testing.T) {
	t.Parallel()
	w := newWeb(t, map[string][]answer{})
	w.module("a.test/a", "v1.0.0", "2026-01-01T00:00:00Z")
	dir := t.TempDir()
	for _, file := range []string{dir, filepath.Join(dir, "missing", "releases.csv")} {
		_, _, err := w.download(t, t.Context(), "a.test/a", "-out", file)
		require.ErrorContains(t, err, "-out "+file)
	}
	require.Empty(t, w.requests())

	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	if err := os.Symlink(target, link); err != nil {
		t.Skip(err)
	}
	_, _, err := w.download(t, t.Context(), "a.test/a", "-out", link)
	require.NoError(t, err)
	text, err := os.ReadFile(target)
	require.NoError(t, err)
	require.Equal(t, "a.test/a,1767225600\n", string(text))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	require.False(t, info.Mode().IsRegular())
}

func TestCommandLine(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.ErrorIs(t, run([]string{"-h"}, &out, io.Discard), flag.ErrHelp)
	for _, said := range []string{"go run ./examples/releases -out", "-modules", "GONOPROXY", "name,unix,unix"} {
		require.Contains(t, out.String(), said)
	}
	for _, args := range []string{
		"-days 0", "-days -1", "-days 1e3", "-days 1000001", "-versions 0", "-versions 1000001", "-seed 2", "-json",
		"-proxy one.test", "-proxy ftp://one.test", "-proxy https://", "-proxy https://one.test?a=b", "-proxy=", "-sum=", "-modules=", "-out=",
		"-modules a -sum b", "-files a.test/a -sum b", "-files a.test/a -modules b", "-files=", "-files ../a", "-x", "x",
	} {
		require.ErrorAs(t, run(strings.Fields(args), io.Discard, io.Discard), new(report.UsageError), args)
	}
	s, err := parse([]string{"-quick"}, io.Discard, io.Discard)
	require.NoError(t, err)
	require.Equal(t, quickVersions, s.versions)
	s, err = parse([]string{"-quick", "-versions", "30"}, io.Discard, io.Discard)
	require.NoError(t, err)
	require.Equal(t, 30, s.versions)
	s, err = parse([]string{"-files", "a.test/a"}, io.Discard, io.Discard)
	require.NoError(t, err)
	require.Equal(t, manyVersions, s.versions)
}
