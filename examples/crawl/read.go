package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"

	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/examples/crawl/internal/input"
)

// tellAfter is the number of sitemaps and feeds after which the log says that the crawler is at it: each
// waits for its host's delay.
const tellAfter = 20

// atATime is the number of sitemaps and feeds of the command line that are read at a time: a host that takes long is
// not to hold up the others for hours. Each may take the memory of its document.
const atATime = 4

// A reading is what sources name.
type reading struct {
	entries []input.Entry
	rules   []input.Rule
	whole   bool  // no line of a list is wrong
	failed  error // of sources that cannot be read
}

// read reads all sources. Whole says that they name all that is to be crawled: a page that they do
// not name is to be crawled no more. That is so if there are sources, all could be read to the last
// line, and they name a page at all.
func (s *settings) read(ctx context.Context, f *fetch.Fetcher) (entries []input.Entry, whole bool, err error) {
	r, err := s.files()
	if err != nil {
		return nil, false, err
	}
	return s.documents(ctx, f, r, func([]input.Entry) {})
}

// files reads the sources that are files.
func (s *settings) files() (r reading, err error) {
	r.whole = true
	if s.rules != "" {
		f, err := os.Open(s.rules)
		if err != nil {
			return r, err
		}
		defer f.Close()
		if r.rules, err = input.Rules(f, s.rules); err != nil {
			return r, err
		}
	}
	for _, name := range s.urls {
		f, err := os.Open(name)
		if err != nil {
			return r, err
		}
		defer f.Close()
		more, bad, err := input.URLs(f, name)
		for _, b := range bad {
			slog.Warn("a line of the list is left out; until it is corrected pages that are known stay, named or not", "error", b)
		}
		r.whole = r.whole && len(bad) == 0
		r.add(more, err)
	}
	if s.opml != "" {
		body, err := os.ReadFile(s.opml)
		if err != nil {
			return r, err
		}
		r.add(input.OPML(body, s.opml))
	}
	return r, nil
}

func (r *reading) add(more []input.Entry, err error) {
	r.entries, r.failed = append(r.entries, more...), errors.Join(r.failed, err)
}

// documents adds what sitemaps and feeds name to what files do. Found is told of the pages of each document
// once it is read, one document at a time: all of them may take hours.
func (s *settings) documents(ctx context.Context, f *fetch.Fetcher, r reading, found func([]input.Entry)) (entries []input.Entry, whole bool, err error) {
	var got atomic.Int64
	get := func(url string) (body []byte, at string, err error) {
		if ctx.Err() != nil { // what is left of an index is not to be told of
			return nil, "", ctx.Err()
		}
		if n := got.Add(1); n%tellAfter == 0 {
			slog.Info("sitemaps and feeds are read, a host's one after the other", "so far", n-1)
		}
		return f.Get(ctx, url, input.MaxDocument+1)
	}
	var telling sync.Mutex
	each := func(more []input.Entry) {
		telling.Lock()
		defer telling.Unlock()
		if ctx.Err() == nil {
			found(input.Merge(more, r.rules))
		}
	}
	sources := make([]reading, len(s.sitemaps)+len(s.feeds))
	var all sync.WaitGroup
	turns := make(chan struct{}, atATime)
	for i := range sources {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			if i < len(s.sitemaps) {
				sources[i].add(input.Sitemap(get, s.sitemaps[i], each))
				return
			}
			more, err := input.Feed(get, s.feeds[i-len(s.sitemaps)])
			each(more)
			sources[i].add(more, err)
		})
	}
	all.Wait()
	for _, source := range sources {
		r.add(source.entries, source.failed)
	}
	if ctx.Err() != nil {
		return nil, false, ctx.Err()
	}
	if r.failed != nil {
		slog.Warn("a source cannot be read; pages that are known stay", "error", r.failed)
	}
	if s.hasSource() && len(r.entries) == 0 {
		slog.Warn("the sources name no page; pages that are known stay")
	}
	merged := input.Merge(r.entries, r.rules)
	for _, prefix := range input.Unmatched(merged, r.rules) {
		slog.Warn("a rule is about no page", "file", s.rules, "rule", prefix)
	}
	return merged, r.whole && r.failed == nil && len(r.entries) > 0, nil
}

func (s *settings) hasSource() bool {
	return s.opml != "" || len(s.urls)+len(s.sitemaps)+len(s.feeds) > 0
}

// hasDocuments reports whether there are sources that are to be fetched.
func (s *settings) hasDocuments() bool { return len(s.sitemaps)+len(s.feeds) > 0 }
