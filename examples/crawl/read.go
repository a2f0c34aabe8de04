package main

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/examples/crawl/internal/input"
)

// tellAfter is the number of sitemaps and feeds after which the log says that the crawler is at it: each
// waits for its host's delay.
const tellAfter = 20

// read reads all sources. Whole says that they name all that is to be crawled: a page that they do
// not name is to be crawled no more. That is so if there are sources, all could be read to the last
// line, and they name a page at all.
func (s *settings) read(ctx context.Context, f *fetch.Fetcher) (entries []input.Entry, whole bool, err error) {
	got := 0
	get := func(url string) ([]byte, error) {
		if ctx.Err() != nil { // what is left of an index is not to be told of
			return nil, ctx.Err()
		}
		if got++; got%tellAfter == 0 {
			slog.Info("sitemaps and feeds are read, a host's one after the other", "so far", got-1)
		}
		return f.Get(ctx, url, input.MaxDocument+1)
	}
	var rules []input.Rule
	if s.rules != "" {
		f, err := os.Open(s.rules)
		if err != nil {
			return nil, false, err
		}
		defer f.Close()
		if rules, err = input.Rules(f, s.rules); err != nil {
			return nil, false, err
		}
	}
	whole = true
	var failed error
	add := func(more []input.Entry, err error) {
		entries, failed = append(entries, more...), errors.Join(failed, err)
	}
	for _, name := range s.urls {
		f, err := os.Open(name)
		if err != nil {
			return nil, false, err
		}
		defer f.Close()
		more, bad, err := input.URLs(f, name)
		for _, b := range bad {
			slog.Warn("a line of the list is left out; until it is corrected pages that are known stay, named or not", "error", b)
		}
		whole = whole && len(bad) == 0
		add(more, err)
	}
	for _, url := range s.sitemaps {
		add(input.Sitemap(get, url))
	}
	for _, url := range s.feeds {
		add(input.Feed(get, url))
	}
	if s.opml != "" {
		body, err := os.ReadFile(s.opml)
		if err == nil {
			add(input.OPML(body, s.opml))
		}
		failed = errors.Join(failed, err)
	}
	if ctx.Err() != nil {
		return nil, false, ctx.Err()
	}
	if failed != nil {
		slog.Warn("a source cannot be read; pages that are known stay", "error", failed)
	}
	if s.hasSource() && len(entries) == 0 {
		slog.Warn("the sources name no page; pages that are known stay")
	}
	merged := input.Merge(entries, rules)
	for _, prefix := range input.Unmatched(merged, rules) {
		slog.Warn("a rule is about no page", "file", s.rules, "rule", prefix)
	}
	return merged, whole && failed == nil && len(entries) > 0, nil
}

func (s *settings) hasSource() bool {
	return s.opml != "" || len(s.urls)+len(s.sitemaps)+len(s.feeds) > 0
}
