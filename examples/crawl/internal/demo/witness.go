package demo

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// IDHeader is the header by which requests of a poll are known.
const IDHeader = "X-Poll-Id"

// Served is what a web knows that it answered to a poll.
type Served struct {
	Path     string // host and path
	Requests int    // some are sent again by net/http
	Status   int
	Aborted  bool
	Version  int // of the copy, 0 if there was none
	At       time.Time
}

// A Witness sees what a web answers.
type Witness struct {
	mu         sync.Mutex
	answered   int
	polls      map[uint64]Served
	trespasses int
	inFlight   map[string]int // requests by host
	latest     map[string]time.Time
	crowded    int // requests while another one to the same host was under way
}

func newWitness() *Witness {
	return &Witness{polls: map[uint64]Served{}, inFlight: map[string]int{}, latest: map[string]time.Time{}}
}

// Take returns what was answered to a poll, and forgets it.
func (w *Witness) Take(id uint64) (Served, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s, ok := w.polls[id]
	delete(w.polls, id)
	return s, ok
}

// All returns what was answered to all polls that were not taken.
func (w *Witness) All() map[uint64]Served {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := make(map[uint64]Served, len(w.polls))
	for id, s := range w.polls {
		all[id] = s
	}
	return all
}

// Polls returns how many requests for pages have been answered so far, also those taken.
func (w *Witness) Polls() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.answered
}

// Latest returns when a page of a host was last answered for.
func (w *Witness) Latest(host string) time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.latest[host]
}

// Trespasses returns the number of requests for pages that robots.txt forbids, and Crowded that of
// requests to a host while another one was under way.
func (w *Witness) Trespasses() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.trespasses
}

// Crowded is explained at Trespasses.
func (w *Witness) Crowded() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.crowded
}

func (w *Witness) trespass() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trespasses++
}

// serve lets a handler answer, and writes down what it does.
func (w *Witness) serve(h http.Handler, rw http.ResponseWriter, r *http.Request) {
	w.begin(r.Host)
	defer w.end(r.Host)
	id, err := strconv.ParseUint(r.Header.Get(IDHeader), 10, 64)
	if err != nil { // not a poll of ours
		h.ServeHTTP(rw, r)
		return
	}
	seen := &copying{ResponseWriter: rw, status: http.StatusOK}
	aborted := true
	defer func() {
		if seen.status == http.StatusFound { // to a session
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.answered++
		s := w.polls[id]
		s.At = time.Now()
		w.latest[r.Host] = s.At
		s.Path, s.Requests, s.Status, s.Aborted = r.Host+r.URL.Path, s.Requests+1, seen.status, aborted
		if s.Version = 0; seen.status == http.StatusOK && !aborted {
			s.Version = version(seen)
		}
		w.polls[id] = s
	}()
	h.ServeHTTP(seen, r)
	aborted = false
}

// grace is for a handler whose answer has gone out to return.
const grace = 20 * time.Millisecond

func (w *Witness) begin(host string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for waited := time.Duration(0); w.inFlight[host] > 0 && waited < grace; waited += time.Millisecond {
		w.mu.Unlock()
		time.Sleep(time.Millisecond)
		w.mu.Lock()
	}
	if w.inFlight[host]++; w.inFlight[host] > 1 {
		w.crowded++
	}
}

func (w *Witness) end(host string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inFlight[host]--
}

// version returns the version that a body tells.
func version(seen *copying) int {
	body := seen.body.Bytes()
	if seen.Header().Get("Content-Encoding") == "gzip" {
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return 0
		}
		body, _ = io.ReadAll(z)
	}
	_, rest, _ := bytes.Cut(body, []byte("<p>Version "))
	number, _, _ := bytes.Cut(rest, []byte("."))
	v, _ := strconv.Atoi(string(number))
	return v
}

// copying keeps what is written, as one in the tests of webenv/live does: they are another module.
type copying struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (c *copying) Unwrap() http.ResponseWriter { return c.ResponseWriter }

func (c *copying) WriteHeader(status int) {
	c.status = status
	c.ResponseWriter.WriteHeader(status)
}

func (c *copying) Write(b []byte) (int, error) {
	c.body.Write(b)
	return c.ResponseWriter.Write(b)
}
