package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"

	"github.com/recrawl/recrawl/examples/crawl/internal/input"
)

// maxSource is what is read of a sitemap or feed.
const maxSource = 50 << 20

// read reads all sources. Whole says that they name all that is to be crawled: a page that they do
// not name is to be crawled no more. That is so if there are sources, all could be read to the last
// line, and they name a page at all.
func (s *settings) read(ctx context.Context) (entries []input.Entry, whole bool, err error) {
	get := func(url string) ([]byte, error) { return s.get(ctx, url) }
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
	if s.urls != "" {
		f, err := os.Open(s.urls)
		if err != nil {
			return nil, false, err
		}
		defer f.Close()
		more, bad, err := input.URLs(f, s.urls)
		for _, b := range bad {
			slog.Warn("a line of the list is left out; until it is corrected pages that are known stay, named or not", "error", b)
		}
		whole = len(bad) == 0
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
			add(input.OPML(body))
		}
		failed = errors.Join(failed, err)
	}
	if failed != nil {
		slog.Warn("a source cannot be read; pages that are known stay", "error", failed)
	}
	if s.hasSource() && len(entries) == 0 {
		slog.Warn("the sources name no page; pages that are known stay")
	}
	return input.Merge(entries, rules), whole && failed == nil && len(entries) > 0, nil
}

func (s *settings) hasSource() bool {
	return s.urls != "" || s.opml != "" || len(s.sitemaps)+len(s.feeds) > 0
}

// get gets a sitemap or a feed.
func (s *settings) get(ctx context.Context, url string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("User-Agent", s.userAgent)
	client := http.Client{Timeout: s.timeout}
	resp, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s", resp.Status)
	}
	return io.ReadAll(io.LimitReader(resp.Body, maxSource))
}
