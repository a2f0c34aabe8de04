package relay

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode"

	"golang.org/x/net/netutil"

	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
)

// Headers between two nodes. What begins like them is never passed on.
const (
	prefix        = "Recrawl-"
	targetHeader  = prefix + "Target"  // the URL to get
	timeoutHeader = prefix + "Timeout" // for how long an answer is waited for
	refusedHeader = prefix + "Refused" // why nothing was sent to the host
	failedHeader  = prefix + "Failed"  // why the host gave no answer
	againHeader   = prefix + "Again"   // it closed the connection, see fetch.ErrAgain
	protoHeader   = prefix + "Proto"   // by which protocol it answered
)

// hopHeaders are of one connection only (RFC 9110, section 7.6.1).
var hopHeaders = []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

const (
	// turns is the number of requests that a relay sends on at a time, and connections that of
	// those it has open, idle ones included.
	turns       = 256
	connections = 4 * turns
	// longest is the time that a request may take, whatever who asked says.
	longest = 5 * time.Minute
	// slack is what an answer may take longer for its way back.
	slack = 5 * time.Second
)

// Config describes a Server.
type Config struct {
	Identity *Identity
	Base     http.RoundTripper     // this node's way to the web
	Member   func(key string) bool // whether a key is that of a node on the board
	Sure     func() bool           // whether this node is sure to be one
	turns    int                   // instead of the usual number
}

// A Server sends requests of other nodes on.
type Server struct {
	cfg   Config
	turns chan struct{}
	http  http.Server
	sent  atomic.Int64
}

// Sent returns the number of requests that were sent on.
func (s *Server) Sent() int { return int(s.sent.Load()) }

// NewServer returns a server.
func NewServer(cfg Config) *Server {
	if cfg.turns == 0 {
		cfg.turns = turns
	}
	s := &Server{cfg: cfg, turns: make(chan struct{}, cfg.turns)}
	s.http = http.Server{
		Handler: s, ReadHeaderTimeout: slack, IdleTimeout: 2 * idle,
		MaxHeaderBytes: 2 * fetch.LongestHeader, // a URL may be as long as the redirect that leads there
		ErrorLog:       slog.NewLogLogger(slog.Default().Handler(), slog.LevelDebug),
	}
	return s
}

// Serve serves until Close.
func (s *Server) Serve(l net.Listener) error {
	l = tls.NewListener(netutil.LimitListener(l, connections), s.cfg.Identity.config(s.cfg.Member))
	err := s.http.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Close ends the server when the requests under way have ended, or after some seconds.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), slack)
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		_ = s.http.Close()
	}
}

// unsure is why a node that may be taken for dead sends nothing.
const unsure = "not sure to be a member"

// refuse tells that nothing was sent to the host.
func refuse(w http.ResponseWriter, status int, why string) {
	w.Header().Set(refusedHeader, why)
	w.WriteHeader(status)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	control := http.NewResponseController(w)
	// Of who reads no more; also for a refusal, as the deadline of the request before holds.
	_ = control.SetWriteDeadline(time.Now().Add(longest + slack))
	if key := keyIn(r.TLS); key == "" || !s.cfg.Member(key) { // it was one when it connected
		refuse(w, http.StatusForbidden, errStranger.Error())
		return
	}
	target, err := url.Parse(r.Header.Get(targetHeader))
	if err != nil || target.Host == "" || target.Scheme != "http" && target.Scheme != "https" {
		refuse(w, http.StatusBadRequest, "no URL")
		return
	}
	timeout, err := time.ParseDuration(r.Header.Get(timeoutHeader))
	if err != nil || timeout <= 0 {
		refuse(w, http.StatusBadRequest, "no timeout")
		return
	}
	select {
	case s.turns <- struct{}{}:
		defer func() { <-s.turns }()
	default:
		refuse(w, http.StatusServiceUnavailable, "busy")
		return
	}
	timeout = min(timeout, longest)
	ctx, cancel := context.WithTimeout(fetch.WithGuard(r.Context(), s.cfg.Sure), timeout)
	defer cancel()
	out := (&http.Request{Method: http.MethodGet, URL: target, Host: target.Host, Header: passed(r.Header)}).WithContext(ctx)
	_ = control.SetWriteDeadline(time.Now().Add(timeout + slack))
	s.pass(w, control, out)
}

// pass sends a request on and the answer back. Where that ends in the middle a trailer says so: a
// connection that breaks is the relay's own end.
func (s *Server) pass(w http.ResponseWriter, control *http.ResponseController, out *http.Request) {
	if !s.cfg.Sure() {
		refuse(w, http.StatusServiceUnavailable, unsure)
		return
	}
	s.sent.Add(1)
	refuse := func(status int, why string) {
		s.sent.Add(-1)
		refuse(w, status, why)
	}
	resp, err := s.cfg.Base.RoundTrip(out)
	if errors.Is(err, fetch.ErrElsewhere) { // it was stopped before there was a connection
		refuse(http.StatusServiceUnavailable, unsure)
		return
	}
	if errors.Is(err, fetch.ErrInside) {
		refuse(http.StatusForbidden, err.Error())
		return
	}
	if errors.Is(err, fetch.ErrRefused) || errors.Is(err, fetch.ErrNoWay) { // who asks may have another way
		refuse(http.StatusServiceUnavailable, short(err))
		return
	}
	if err != nil {
		if errors.Is(err, fetch.ErrAgain) {
			w.Header().Set(againHeader, "1")
		}
		w.Header().Set(failedHeader, short(err))
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 { // net/http cannot write such a status as the last of an answer
		w.Header().Set(failedHeader, fmt.Sprintf("the host answers with status %03d", resp.StatusCode))
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	for name, values := range passed(resp.Header) {
		w.Header()[name] = values
	}
	w.Header().Set(protoHeader, resp.Proto)
	w.Header().Del("Content-Length") // trailers come with chunks
	w.Header().Set("Trailer", failedHeader)
	w.WriteHeader(resp.StatusCode)
	// From here on who asked knows that the host was asked.
	if err = control.Flush(); err == nil {
		_, err = io.Copy(w, resp.Body)
	}
	if err != nil {
		w.Header().Set(failedHeader, short(err))
	}
}

// short returns the text of an error for a header. What a host says in it may be anything, and a
// header that cannot be read would look like a relay that breaks.
func short(err error) string {
	text := strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, err.Error())
	return text[:min(len(text), 500)]
}

// passed returns the headers that are passed on.
func passed(all http.Header) http.Header {
	h := all.Clone()
	for _, line := range all["Connection"] {
		for name := range strings.SplitSeq(line, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for name := range h {
		if strings.HasPrefix(name, prefix) || slices.Contains(hopHeaders, name) {
			delete(h, name)
		}
	}
	return h
}
