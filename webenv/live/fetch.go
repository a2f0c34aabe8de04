package live

import (
	"context"
	"errors"
	"sync"
)

// A Fetch is one poll of a page with all requests that a client sends for it, including redirects
// and second tries. [Begin] begins it, End returns its [Poll]. Take it to know which page a poll
// belongs to, whatever the client makes of the URL, and to get a Poll even if the client sent
// nothing.
//
//	ctx, fetch := live.Begin(ctx, page)
//	resp, err := client.Do(request.WithContext(ctx))
//	...                     // read and close the body
//	poll := fetch.End(err)
//	err = live.Tell(learner, page, time.Now(), poll)
type Fetch struct {
	page   string
	report func(Poll) // called for each request; may be nil

	mu   sync.Mutex
	poll Poll // of the latest request
	sent bool
	undo func() // undoes what was remembered of redirects; nil if nothing was
}

type fetching struct{}

// Begin begins a poll of a page. The name of the page is the caller's choice, for instance its URL.
// All requests with the returned context belong to the poll. A [Transport] compares the copy with
// the last one of the same name.
func Begin(ctx context.Context, page string) (context.Context, *Fetch) {
	f := &Fetch{page: page, poll: Poll{Page: page}}
	return context.WithValue(ctx, fetching{}, f), f
}

// add adds what a request found. undo undoes what was remembered of it.
func (f *Fetch) add(found Poll, undo func()) {
	if f.report != nil {
		f.report(found)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sent {
		elapsed := found.Start.Sub(f.poll.Start)
		found.Start = f.poll.Start
		found.Latency += elapsed
		found.Duration += elapsed
	}
	f.poll, f.sent = found, true
	if f.undo == nil {
		f.undo = undo
	}
}

// End ends a fetch and returns its Poll: that of the last request, with the times since the first
// request began. Call it after the body has been closed.
//
// err is the error of the client. It becomes the error of the Poll if no request was sent, or if
// the client refused to follow a redirect. The next poll is then compared with the copy from
// before. If err is nil, a redirect that was not followed is the page itself.
func (f *Fetch) End(err error) Poll {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.poll
	switch {
	case p.Err != nil:
	case !f.sent && err == nil:
		p.Err = ErrNotSent
	case !f.sent:
		p.Err = errors.Join(ErrNotSent, err)
	case err != nil && isRedirect(p.Status):
		p.Err = err
	}
	if p.Err != nil {
		p.Changed, p.Minor, p.First, p.Again, p.Decision = false, false, false, false, Undecided
		if f.undo != nil {
			f.undo()
		}
	}
	return p
}
