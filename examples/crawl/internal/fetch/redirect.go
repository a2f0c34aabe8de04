package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"
)

// redirect follows a redirect within a host after its delay. One to another host must be allowed
// there, too, and waits for its turn no longer than is polite to keep this one waiting.
func (f *Fetcher) redirect(r *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return errors.New("stopped after 10 redirects")
	}
	from, to := via[0].URL.Host, r.URL
	ctx := r.Context()
	if to.Host != from {
		short, cancel := context.WithTimeout(ctx, f.cfg.Timeout/2)
		defer cancel()
		leave, err := f.gate.enter(short, to.Host)
		if errors.Is(err, ErrElsewhere) {
			return fmt.Errorf("redirect to %s: another node polls it; put that page on the list instead", to)
		}
		if err != nil {
			return fmt.Errorf("redirect to %s: its turn did not come", to.Host)
		}
		// The request is sent after this function has returned; its end is not seen here, so the
		// host gets its delay from the beginning.
		defer leave()
		ctx = short
	}
	found, _, err := f.rules(ctx, to)
	if err != nil {
		return err
	}
	if !f.robots.allows(found, to.String()) {
		return fmt.Errorf("%w: redirect to %s", ErrRobots, to)
	}
	return f.gate.wait(ctx, to.Host)
}
