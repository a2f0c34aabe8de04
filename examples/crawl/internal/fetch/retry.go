package fetch

import (
	"fmt"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/recrawl/recrawl/webenv/live"
)

// LongestRest is the longest that a server may have itself left alone by one answer. A page that is asked
// for once a week is no burden, and a Retry-After of a century is a mistake.
const LongestRest = 7 * 24 * time.Hour

// restUntil returns the time in Retry-After, LongestRest from now at most; the zero time if there is none.
func restUntil(h http.Header, now time.Time) time.Time {
	until := live.RetryAfter(h, now)
	if latest := now.Add(LongestRest); until.After(latest) {
		return latest
	}
	return until
}

// resting are the hosts that do not want to be asked for documents. That of pages is the shards' matter.
type resting struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// rest takes note of an answer of a host.
func (r *resting) rest(host string, until, now time.Time) {
	if !until.After(now) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.until == nil {
		r.until = map[string]time.Time{}
	}
	maps.DeleteFunc(r.until, func(_ string, t time.Time) bool { return !t.After(now) })
	r.until[host] = until
}

// refuses returns an error if a host does not want to be asked now.
func (r *resting) refuses(host string, now time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if until := r.until[host]; until.After(now) {
		return fmt.Errorf("%s does not want to be asked before %s", host, until.Format(time.RFC3339))
	}
	return nil
}
