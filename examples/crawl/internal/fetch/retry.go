package fetch

import (
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// longestRest is the longest that a server may have itself left alone by one answer, as for pages.
const longestRest = 7 * 24 * time.Hour

// retryAfter returns the time in Retry-After, longestRest from now at most; the zero time if there is
// none. A date is taken by the server's clock.
func retryAfter(h http.Header, now time.Time) time.Time {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if text != "" && strings.Trim(text, "0123456789") == "" {
		seconds, err := strconv.ParseFloat(text, 64)
		if err != nil || seconds > longestRest.Seconds() {
			return now.Add(longestRest)
		}
		return now.Add(time.Duration(seconds) * time.Second)
	}
	until, err := http.ParseTime(text)
	if err != nil {
		return time.Time{}
	}
	date, err := http.ParseTime(h.Get("Date"))
	if err != nil {
		date = now
	}
	return now.Add(min(until.Sub(date), longestRest))
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

// rests reports whether a host does not want to be asked now, and until when.
func (r *resting) rests(host string, now time.Time) (until time.Time, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	until = r.until[host]
	return until, until.After(now)
}
