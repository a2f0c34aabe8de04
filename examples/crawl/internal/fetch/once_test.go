package fetch

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/upgrade"
)

// hangUps answers the first request of each connection, and closes it at the second one. At a path
// /never it answers none.
func hangUps(t *testing.T, asked func(path string)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	serve := func(c net.Conn) {
		defer c.Close()
		in := bufio.NewReader(c)
		for first := true; ; first = false {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			asked(r.URL.Path)
			if !first || r.URL.Path == "/never" {
				return
			}
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n\n")
		}
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go serve(c)
		}
	}()
	return l.Addr().String()
}

// A host that closes a connection which it kept gets the request again after its delay, not at once.
func TestHostHangsUp(t *testing.T) {
	t.Parallel()
	const delay = 5 * time.Second
	type request struct {
		path string
		at   time.Time
	}
	clock := newManual()
	var mu sync.Mutex
	var requests []request
	host := hangUps(t, func(path string) {
		mu.Lock()
		defer mu.Unlock()
		requests = append(requests, request{path, clock.Now()})
	})
	direct, err := ParsePoint("direct", false)
	require.NoError(t, err)
	t.Cleanup(direct.Close)
	f, err := New(Config{UserAgent: "test (+http://test.test)", Clock: clock, Points: []Point{direct}, Delay: delay})
	require.NoError(t, err)
	for range 3 {
		require.NoError(t, f.Poll(t.Context(), 1, "http://"+host+"/page", nil).Err)
	}
	_, _, err = f.Get(t.Context(), "http://"+host+"/map.xml", 100)
	require.NoError(t, err)
	require.Error(t, f.Poll(t.Context(), 1, "http://"+host+"/never", nil).Err)
	mu.Lock()
	defer mu.Unlock()
	require.Equal(t, "/robots.txt", requests[0].path)
	times := map[string]int{}
	for i, r := range requests {
		times[r.path]++
		if i > 0 {
			require.GreaterOrEqual(t, r.at.Sub(requests[i-1].at), delay, "%v", requests[i-1:i+1])
		}
	}
	require.Equal(t, map[string]int{"/robots.txt": 1, "/page": 6, "/map.xml": 2, "/never": 2}, times)
}

// A connection on which no answer came is not used again, by HTTP/2 either: the machine at its end may be gone.
func TestConnectionIsDead(t *testing.T) {
	t.Parallel()
	var robots sync.Map // connections by which they were asked for
	web := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			robots.Store(r.RemoteAddr, true)
		} else if _, dead := robots.Load(r.RemoteAddr); dead {
			<-r.Context().Done()
		}
	}))
	web.EnableHTTP2 = true
	web.StartTLS()
	defer web.Close()
	direct, err := ParsePoint("direct", false)
	require.NoError(t, err)
	t.Cleanup(direct.Close)
	direct.Base.(once).TLSClientConfig = web.Client().Transport.(*http.Transport).TLSClientConfig
	f, err := New(Config{UserAgent: "test (+http://test.test)", Clock: newManual(), Points: []Point{direct}, Timeout: 5 * time.Second})
	require.NoError(t, err)
	require.Error(t, f.Poll(t.Context(), 1, web.URL+"/page", nil).Err)
	require.NoError(t, f.Poll(t.Context(), 1, web.URL+"/page", nil).Err)
}

// What may not be sent any more when there is a connection is not sent, and says nothing of the host.
func TestGuardWhenConnected(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	host := hangUps(t, func(string) { requests.Add(1) })
	for _, path := range []string{"/robots.txt", "/page"} {
		f := newTestFetcher(t, Point{Name: "web", Base: once{&http.Transport{DisableKeepAlives: true}}})
		if path == "/page" { // its host's robots.txt is known
			_, err := f.Check(t.Context(), "http://"+host+"/page")
			require.NoError(t, err)
		}
		before, asked := requests.Load(), 0
		ours := func() bool { // until there is a connection
			asked++
			return asked == 1
		}
		require.ErrorIs(t, f.Poll(WithGuard(t.Context(), ours), 1, "http://"+host+"/page", nil).Err, ErrElsewhere, path)
		require.Equal(t, before, requests.Load(), path)
		require.NoError(t, f.Poll(t.Context(), 1, "http://"+host+"/page", nil).Err, path)
	}
}

// A host that switches to another protocol, which nobody asked for, and then says nothing keeps no worker.
func TestHostSwitchesProtocols(t *testing.T) {
	t.Parallel()
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" && r.Host != "robots.test" {
			http.NotFound(w, r)
			return
		}
		upgrade.Silent(w, r)
	}))
	t.Cleanup(host.Close)
	proxy, err := ParsePoint(host.URL, false)
	require.NoError(t, err)
	t.Cleanup(proxy.Close)
	f, err := New(Config{UserAgent: "test (+http://test.test)", Clock: newManual(), Points: []Point{proxy}})
	require.NoError(t, err)
	for page, want := range map[string]error{"http://a.test/page": nil, "http://robots.test/page": ErrNoRobots} {
		results := make(chan Result, 1)
		go func() { results <- f.Poll(t.Context(), 1, page, nil) }()
		select {
		case res := <-results:
			require.ErrorContains(t, res.Err, "status 101", page)
			if want != nil {
				require.ErrorIs(t, res.Err, want, page)
			}
		case <-time.After(10 * time.Second):
			require.Fail(t, "the poll does not end", page)
		}
	}
}
