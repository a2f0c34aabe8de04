package page

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

//go:embed static
var static embed.FS

var document = template.Must(template.ParseFS(static, "static/page.html"))

// interval is the time from one status to the next.
const interval = time.Second

// found is the number of pages of a search that are shown.
const found = 20

// remembered is the number of statuses of which the curves of a page that is opened show a point.
const remembered = 240

// A point is what the curves need of a status.
type point struct {
	PollsRate   float64 `json:"polls_rate"`
	ChangesRate float64 `json:"changes_rate"`
	Budget      float64 `json:"budget"`
	Freshness   float64 `json:"freshness"`
	Rivals      []Rival `json:"rivals,omitempty"`
}

// A Server shows a crawl. Make it with Listen and Close it.
type Server struct {
	crawl    Crawl
	token    string // what a form must have: a foreign site cannot read it
	listener net.Listener
	http     *http.Server
	local    bool // it listens on loopback only
	stop     context.CancelFunc
	wait     sync.WaitGroup

	mu      sync.Mutex
	latest  []byte  // status as JSON
	past    []point // not nil, which is no list in JSON
	changed chan struct{}
}

// Listen shows a crawl at an address.
func Listen(addr string, crawl Crawl) (*Server, error) {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("live page: %w", err)
	}
	ctx, stop := context.WithCancel(context.Background())
	s := &Server{crawl: crawl, token: rand.Text(), listener: l, stop: stop, past: []point{}, changed: make(chan struct{})}
	if tcp, ok := l.Addr().(*net.TCPAddr); ok {
		s.local = tcp.IP.IsLoopback()
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.page)
	mux.Handle("GET /static/", http.FileServerFS(static))
	mux.HandleFunc("GET /events", s.events)
	mux.HandleFunc("GET /search", s.search)
	mux.HandleFunc("GET /detail", s.detail)
	mux.HandleFunc("POST /poll", s.act(func(r *http.Request) error { return crawl.PollNow(r.Context(), r.PostFormValue("url")) }))
	mux.HandleFunc("POST /pause", s.act(func(r *http.Request) error {
		return crawl.Pause(r.Context(), r.PostFormValue("host"), r.PostFormValue("on") == "true")
	}))
	mux.Handle("GET /metrics", metrics(crawl))
	s.http = &http.Server{Handler: s.guard(http.NewCrossOriginProtection().Handler(mux)), ReadHeaderTimeout: 10 * time.Second,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	s.wait.Go(func() { _ = s.http.Serve(l) }) // ends when it is closed
	s.wait.Go(func() { s.watch(ctx) })
	return s, nil
}

// URL is where the page is.
func (s *Server) URL() string { return "http://" + s.listener.Addr().String() + "/" }

// Local reports whether only this machine can see it.
func (s *Server) Local() bool { return s.local }

// Close ends the server.
func (s *Server) Close() {
	s.stop()
	_ = s.http.Close()
	s.wait.Wait()
}

// guard refuses requests in a foreign name, by which a site could get at a page on loopback (DNS
// rebinding), and says what a browser may do with the page.
func (s *Server) guard(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.Host)
		if err != nil {
			host = r.Host
		}
		if ip := net.ParseIP(strings.Trim(host, "[]")); s.local && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "this page answers in the name of localhost only", http.StatusMisdirectedRequest)
			return
		}
		h := w.Header()
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src 'self' data:; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-cache")
		next.ServeHTTP(w, r)
	})
}

func (s *Server) page(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := document.Execute(w, struct{ Token string }{s.token}); err != nil {
		slog.Debug("live page", "error", err) // the browser has gone
	}
}

// act does what a form asks for, if the form is this page's.
func (s *Server) act(do func(*http.Request) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, 1<<16)
		if subtle.ConstantTimeCompare([]byte(r.PostFormValue("token")), []byte(s.token)) != 1 {
			http.Error(w, "the form is not this page's, or the crawler was restarted: reload the page", http.StatusForbidden)
			return
		}
		if err := do(r); err != nil {
			http.Error(w, err.Error(), http.StatusUnprocessableEntity)
			return
		}
		if r.Header.Get("Accept") == "application/json" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}
}

func reply(w http.ResponseWriter, v any, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // or the browser has gone
}

func (s *Server) search(w http.ResponseWriter, r *http.Request) {
	urls, err := s.crawl.Search(r.Context(), r.FormValue("q"), found+1)
	reply(w, struct {
		URLs []string `json:"urls"`
		More bool     `json:"more"`
	}{append([]string{}, urls[:min(len(urls), found)]...), len(urls) > found}, err)
}

func (s *Server) detail(w http.ResponseWriter, r *http.Request) {
	d, ok, err := s.crawl.Detail(r.Context(), r.FormValue("url"))
	if err == nil && !ok {
		http.Error(w, "unknown page", http.StatusNotFound)
		return
	}
	reply(w, d, err)
}

// watch asks for a status at intervals, once for all who look.
func (s *Server) watch(ctx context.Context) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for ctx.Err() == nil {
		status, err := s.crawl.Status(ctx)
		var text []byte
		if err == nil {
			text, err = json.Marshal(status)
		}
		if err == nil {
			s.mu.Lock()
			s.latest = text
			if len(s.past) == remembered {
				s.past = append(s.past[:0], s.past[1:]...)
			}
			s.past = append(s.past, point{status.PollsRate, status.ChangesRate, status.Budget, status.Freshness, status.Rivals})
			close(s.changed)
			s.changed = make(chan struct{})
			s.mu.Unlock()
		} else if !errors.Is(err, context.Canceled) {
			slog.Error("live page", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// events sends each status as it comes (server-sent events).
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	s.mu.Lock()
	past, err := json.Marshal(s.past[:max(len(s.past)-1, 0)])
	s.mu.Unlock()
	if err == nil {
		_, err = fmt.Fprintf(w, "event: past\ndata: %s\n\n", past)
	}
	if err != nil {
		return
	}
	for {
		s.mu.Lock()
		text, changed := s.latest, s.changed
		s.mu.Unlock()
		if text != nil {
			if _, err := fmt.Fprintf(w, "data: %s\n\n", text); err != nil || out.Flush() != nil {
				return
			}
		}
		select {
		case <-r.Context().Done():
			return
		case <-changed:
		}
	}
}
