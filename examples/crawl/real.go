package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/recrawl/recrawl/examples/crawl/internal/cluster"
	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/examples/crawl/internal/input"
	"github.com/recrawl/recrawl/examples/crawl/internal/sink"
	"github.com/recrawl/recrawl/examples/internal/report"
)

// storagePause is how long the crawl rests when its state cannot be written, before it tries again.
const storagePause = 5 * time.Second

// crawl crawls the user's pages. While the state cannot be written it polls nothing: what is not
// logged is not learnt, and is found again.
func (s *settings) crawl() error {
	for _, name := range slices.Concat(s.urls, list{s.opml, s.rules}) { // before there is a state, which keeps its objective
		info, err := os.Stat(name)
		switch {
		case name == "":
		case err != nil:
			return err
		case info.Mode()&os.ModeNamedPipe != 0: // who opens it again may wait for ever
			return fmt.Errorf("%s is a pipe, which cannot be read again every -refresh: give a file", name)
		}
	}
	sinks, closeSinks, err := s.openSinks()
	if err != nil {
		return err
	}
	defer closeSinks()
	return s.untilStopped(func(ctx context.Context) error {
		defer context.AfterFunc(ctx, sinks.Stop)()
		return s.session(ctx, sinks)
	})
}

// untilStopped runs one session after the other until the user stops it, the time is up, or there
// is an error other than that the state cannot be written or the cluster was lost.
func (s *settings) untilStopped(session func(ctx context.Context) error) error {
	if err := s.Start(""); err != nil {
		return err
	}
	slog.SetDefault(slog.New(slog.NewTextHandler(s.Stderr, nil)))
	// What packages print to the standard logger is for debugging: net/http does so whenever a host sends
	// what nobody asked for.
	slog.SetLogLoggerLevel(slog.LevelDebug)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if s.length > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, s.length)
		defer cancel()
	}
	// Whoever asks a second time does not want to wait.
	defer context.AfterFunc(ctx, func() {
		stop()
		slog.Info("stopping: what is under way is waited for and the state is saved; a second signal ends the process at once, which loses nothing that counts")
	})()
	for begun := false; ; begun = true {
		err := session(ctx)
		if errors.Is(err, cluster.ErrLost) && ctx.Err() == nil {
			slog.Warn("this node joins the cluster again")
			continue
		}
		if errors.Is(err, engine.ErrUnreached) && !begun { // so nothing was done
			return fmt.Errorf("-nats %s: %w", s.engine.URL, engine.ErrUnreached)
		}
		if ctx.Err() != nil && errors.Is(err, ctx.Err()) { // it was stopped before it had begun
			return nil
		}
		if ctx.Err() != nil || !errors.Is(err, engine.ErrStorage) || !s.engine.Known && !s.hasState() || s.dryRun { // for which somebody waits
			return err
		}
		slog.Error("resting until the state can be written again; nothing that counts is lost", "error", err)
		select {
		case <-ctx.Done():
			return err
		case <-time.After(storagePause):
		}
	}
}

// hasState reports whether there is a state to wait for.
func (s *settings) hasState() bool {
	info, err := os.Stat(s.engine.Dir)
	return err == nil && info.IsDir()
}

// openSinks opens what new versions of pages go to.
func (s *settings) openSinks() (sinks *sink.Sinks, closeAll func(), err error) {
	var all []sink.Sink
	closeAll = func() {}
	if s.dryRun { // writes nothing
		return sink.New(), closeAll, nil
	}
	if s.lines {
		all = append(all, sink.Lines(s.Stdout))
	}
	if s.folder != "" {
		f, err := sink.Folder(s.folder)
		if err != nil {
			return nil, closeAll, err
		}
		all = append(all, f)
	}
	if s.warc != "" {
		w, err := sink.NewWARC(s.warc, s.userAgent)
		if err != nil {
			return nil, closeAll, err
		}
		closeAll = func() {
			if err := w.Close(); err != nil {
				slog.Error("WARC", "error", err)
			}
		}
		all = append(all, w.Keep)
	}
	if s.webhook != "" {
		all = append(all, sink.Webhook(s.webhook, s.userAgent))
	}
	return sink.New(all...), closeAll, nil
}

// points are the access points of the command line.
func (s *settings) points() (all []fetch.Point, err error) {
	for _, text := range s.access {
		p, err := fetch.ParsePoint(text, false)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(q fetch.Point) bool { return q.Name == p.Name }) {
			return nil, fmt.Errorf("access point %q is given twice", p.Name)
		}
		all = append(all, p)
	}
	return all, nil
}

// checkReal reports a setting of a crawl of real pages with which no request, or no version, could be
// sent.
func (s *settings) checkReal() error {
	if !s.real() {
		return nil
	}
	for _, f := range []struct {
		name string
		urls list
	}{{"sitemap", s.sitemaps}, {"feed", s.feeds}, {"webhook", list{s.webhook}}} {
		for _, url := range f.urls {
			if url != "" && !isURL(url) {
				return report.Usagef("-%s %q: want an http or https URL", f.name, url)
			}
		}
	}
	switch {
	case slices.Contains(s.urls, "-"):
		return report.Usagef("-urls -: lists are read again every -refresh, and standard input cannot be: give a file")
	case s.warc != "" && !strings.HasSuffix(s.warc, ".warc.gz"):
		return report.Usagef("-warc %s: want a name that ends in .warc.gz, by which others know what is in it", s.warc)
	case s.idHeader != "" && !httpguts.ValidHeaderFieldName(s.idHeader):
		return report.Usagef("-id-header %q: want the name of a header", s.idHeader)
	case hasMeaning(s.idHeader):
		return report.Usagef("-id-header %s: that header says something else to a server: want one of your own, such as X-Poll-Id", s.idHeader)
	case !httpguts.ValidHeaderFieldValue(s.userAgent):
		return report.Usagef("-user-agent %q: a header cannot have that", s.userAgent)
	}
	if _, err := s.points(); err != nil {
		return report.Usagef("-via: %v", err)
	}
	return nil
}

// isURL reports whether a text is an absolute http or https URL.
func isURL(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return false
	}
	_, err = input.Host(u)
	return err == nil
}

// hasMeaning reports whether a header is one that the crawler or the transport sets, or by which a
// server chooses its answer.
func hasMeaning(header string) bool {
	header = http.CanonicalHeaderKey(header)
	for _, kind := range []string{"Accept-", "Content-", "If-", "Proxy-"} {
		if strings.HasPrefix(header, kind) {
			return true
		}
	}
	return slices.Contains([]string{
		"Accept", "Authorization", "Cache-Control", "Connection", "Cookie", "Expect", "Host", "Keep-Alive", "Pragma",
		"Range", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "User-Agent",
	}, header)
}
