package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"google.golang.org/grpc/credentials"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/examples/crawl/internal/frontier"
	"github.com/recrawl/recrawl/examples/crawl/internal/frontier/book"
	"github.com/recrawl/recrawl/examples/internal/report"
)

// A frontierServer is what the command line says of -frontier.
type frontierServer struct {
	address            string
	dates, known       string
	keys               book.Keys
	cert, key, clients string
}

// flags adds the flags of -frontier.
func (v *frontierServer) flags(f *flag.FlagSet) {
	v.keys = book.DefaultKeys()
	f.StringVar(&v.address, "frontier", "", "`address`, such as 127.0.0.1:7071, on which to serve the URLFrontier interface instead of crawling: StormCrawler and others fetch, and this program learns and decides. -state (frontier-state by default), -per-day and -delay (none by default), -objective and -for hold here, too")
	f.StringVar(&v.dates, "frontier-dates", "bound", "`rule` for the date that a client gives a URL. bound: the URL is not given out before that date; ignore (with -per-day): once there is a copy to learn from, the date counts only after a failed fetch")
	f.StringVar(&v.known, "frontier-known", "ok", "`answer` to a discovered URL that is known already: ok or skipped")
	f.Var(&v.keys, "frontier-metadata", "`keys` of the metadata that hold the result of a fetch")
	f.StringVar(&v.cert, "frontier-cert", "", "PEM `file` with the server's certificates, for TLS instead of plain text")
	f.StringVar(&v.key, "frontier-key", "", "PEM `file` with the server's private key")
	f.StringVar(&v.clients, "frontier-clients", "", "PEM `file` with certificates: only clients with a certificate signed by one of them are served")
}

// on reports whether the frontier is asked for.
func (v *frontierServer) on() bool { return v.address != "" }

// check reports a setting of the frontier that makes no sense.
func (v *frontierServer) check(s *settings) error {
	if !v.on() {
		return nil
	}
	switch {
	case !isAddress(v.address):
		return report.Usagef("-frontier %s: want a host and a port, such as 127.0.0.1:7071", v.address)
	case s.hasSource():
		return report.Usagef("-frontier: clients put the URLs; -urls and the like make no sense")
	case s.engine.URL != "":
		return report.Usagef("-frontier with -nats: it keeps its state in a folder, -state")
	case v.dates != "bound" && v.dates != "ignore":
		return report.Usagef("-frontier-dates %s: want bound or ignore", v.dates)
	case v.dates == "ignore" && !s.Given("per-day"):
		return report.Usagef("-frontier-dates ignore: want -per-day, or clients fetch as fast as they can")
	case v.known != "ok" && v.known != "skipped":
		return report.Usagef("-frontier-known %s: want ok or skipped", v.known)
	case (v.cert == "") != (v.key == ""):
		return report.Usagef("-frontier-cert and -frontier-key belong together")
	case v.clients != "" && v.cert == "":
		return report.Usagef("-frontier-clients: want -frontier-cert and -frontier-key")
	case s.engine.Shards > 1:
		return report.Usagef("-shards %d: a frontier has one", s.engine.Shards)
	}
	return nil
}

// credentials returns what TLS needs, nil for plain text.
func (v *frontierServer) credentials() (credentials.TransportCredentials, error) {
	if v.cert == "" {
		return nil, nil
	}
	pair, err := tls.LoadX509KeyPair(v.cert, v.key)
	if err != nil {
		return nil, fmt.Errorf("-frontier-cert: %w", err)
	}
	cfg := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if v.clients != "" {
		pem, err := os.ReadFile(v.clients)
		if err != nil {
			return nil, fmt.Errorf("-frontier-clients: %w", err)
		}
		cfg.ClientCAs, cfg.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !cfg.ClientCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("-frontier-clients: no certificate in %s", v.clients)
		}
	}
	return credentials.NewTLS(cfg), nil
}

// serveFrontier serves the interface until it is interrupted. While the state cannot be written it
// serves nobody: clients send again what was not acknowledged.
func (s *settings) serveFrontier() error {
	if !s.Given("state") {
		s.engine.Dir = "frontier-state"
	}
	creds, err := s.frontier.credentials()
	if err != nil {
		return err
	}
	return s.untilStopped(func(ctx context.Context) error { return s.frontierSession(ctx, creds) })
}

// frontierSession serves until the context ends or the state fails.
func (s *settings) frontierSession(ctx context.Context, creds credentials.TransportCredentials) error {
	began := time.Now()
	e, err := engine.Open(ctx, s.engine)
	if err != nil {
		return err
	}
	defer e.Close()
	if err := s.agree(e); err != nil {
		return err
	}
	log, err := e.Own(ctx, 0)
	if err != nil {
		return err
	}
	defer log.Release(context.WithoutCancel(ctx))
	state := book.New(s.objective)
	if err := frontier.Restore(ctx, state, log); err != nil {
		return fmt.Errorf("%s: %w", s.engine.Dir, err)
	}
	now := clock.NewReal()
	if behind := now.NotBefore(frontier.Time(state.Latest)); behind > time.Second {
		slog.Warn("this machine's clock is behind the latest change: it was set back; the frontier goes on from that time and lets the clock catch up", "behind", behind.Round(time.Second))
	}
	cfg := frontier.Config{
		State: state, Log: log, Clock: now, Address: s.frontier.address,
		Keys: s.frontier.keys, IgnoreDates: s.frontier.dates == "ignore", SkipKnown: s.frontier.known == "skipped", TLS: creds,
	}
	if s.Given("per-day") {
		cfg.PerSecond = s.perDay / 86400
	}
	if s.Given("delay") {
		cfg.Delay = &s.delay
	}
	l, err := net.Listen("tcp", s.frontier.address)
	if err != nil {
		return err
	}
	urls := 0
	for c := range state.Crawls() {
		for q := range c.Queues() {
			urls += q.Len()
		}
	}
	slog.Info("the frontier is open", "address", l.Addr(), "state", s.engine.Dir, "urls", urls, "active", !state.Paused, "took", time.Since(began).Round(time.Millisecond))
	if tcp, ok := l.Addr().(*net.TCPAddr); ok && creds == nil && !tcp.IP.IsLoopback() {
		slog.Warn("the frontier is open to other machines in plain text, and to anybody who reaches it: -frontier-cert, -frontier-key and -frontier-clients are better")
	}
	return frontier.New(cfg).Serve(ctx, l)
}
