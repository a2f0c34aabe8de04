package fetch

import (
	"context"
	"fmt"
	"io"
	"net/http"
)

// Get gets a document that names pages: a sitemap, say. It is as polite as Poll, and takes the same
// access points. The host may be another process's, which does not know of it: each process of a
// crawl reads all such documents. Where the host named a time (Retry-After) none of its documents is
// asked for before that. Of the body so many bytes are read at most. At is the URL to which redirects led.
func (f *Fetcher) Get(ctx context.Context, document string, most int64) (body []byte, at string, err error) {
	u, host, err := parse(document)
	if err != nil {
		return nil, "", err
	}
	way, err := f.begin(ctx, host, true, 2*max(longestDelay, f.cfg.Delay)) // one is for its robots.txt
	if err != nil {
		return nil, "", err
	}
	defer f.end(way)
	ctx = withRoute(ctx, way)
	found, _, err := f.rules(ctx, u, false)
	if err != nil {
		return nil, "", err
	}
	if err := f.robots.refuses(found, document); err != nil {
		return nil, "", err
	}
	if err := f.rest.refuses(host, f.cfg.Clock.Now()); err != nil {
		return nil, "", err
	}
	if err := way.turn.wait(ctx); err != nil {
		return nil, "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, document, nil)
	if err != nil {
		return nil, "", err
	}
	r.Header.Set("User-Agent", f.cfg.UserAgent)
	resp, err := f.client(f.redirect).Do(r)
	if err != nil {
		return nil, "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		now := f.cfg.Clock.Now()
		if last, err := hostOf(resp.Request.URL); err == nil { // after redirects
			f.rest.document(last, restUntil(resp.Header, now), now)
		}
		return nil, "", fmt.Errorf("%d %s", resp.StatusCode, http.StatusText(resp.StatusCode)) // the host's own text may be of any length
	}
	body, err = io.ReadAll(io.LimitReader(resp.Body, most))
	return body, resp.Request.URL.String(), err
}
