package live

import (
	"context"
	"errors"
	"slices"
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

	mu      sync.Mutex
	poll    Poll // of the latest request, apart from a second copy after the first
	sent    bool
	open    bool      // a request has begun since, apart from those for a second copy
	taught  bool      // the poll is that of a second copy; see Teaching
	failed  error     // the error with which End has ended the fetch
	lessons []*lesson // that it has taught: one to each Transport, or more, see lesson.begin
}

type fetching struct{}

// Begin begins a poll of a page. The name of the page is the caller's choice, for instance its URL.
// All requests with the returned context belong to the poll. A [Transport] compares the copy with
// the last one of the same name.
func Begin(ctx context.Context, page string) (context.Context, *Fetch) {
	f := &Fetch{page: page, poll: Poll{Page: page}}
	return context.WithValue(ctx, fetching{}, f), f
}

// teach calls by, which alters what a Transport remembers, with the latest lesson of the fetch for
// that Transport. By returns the lesson that it is part of, which may be another. The lesson is nil
// if f is.
func (f *Fetch) teach(of *copies, by func(*lesson) *lesson) {
	if f == nil {
		by(nil)
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	latest := new(lesson)
	for _, l := range f.lessons {
		if l.of == of {
			latest = l
		}
	}
	if l := by(latest); l.of != nil && !slices.Contains(f.lessons, l) {
		f.lessons = append(f.lessons, l)
	}
}

// takeBack takes back what the fetch has taught.
func (f *Fetch) takeBack() {
	for _, l := range f.lessons {
		l.takeBack()
	}
	f.lessons = nil
}

// begin begins a request. A try that is not the first is compared with the copy from before the first
// try, because the client would not try again if it had what it wants.
func (f *Fetch) begin(redirected bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open = true
	if !redirected {
		f.takeBack()
	}
}

// add adds what a request found, which is teaching if it is for a second copy.
func (f *Fetch) add(found Poll, teaching bool) {
	if f.report != nil {
		f.report(found)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed != nil { // the body was closed after End
		f.takeBack()
	}
	if f.sent && teaching && !f.taught { // what the first copy showed stays
		return
	}
	f.taught = teaching
	f.open = f.open && teaching
	if f.sent {
		elapsed := found.Start.Sub(f.poll.Start)
		found.Start = f.poll.Start
		found.Latency += elapsed
		found.Duration += elapsed
	}
	f.poll, f.sent = found, true
}

// End ends a fetch and returns its Poll: that of the last request, with the times since the first
// request began. Call it after the body has been closed. Requests for a second copy ([Teaching])
// leave the Poll of the first one as it is.
//
// err is the error of the client, or of whatever else the caller did with the answer, such as that
// of a store that is full. It becomes the error of the Poll, unless the request failed by itself.
//
// An answer 200 may not be the page, but an error page, a captcha or a login form. If you recognise
// these, for instance by their title, end the fetch with an error. Otherwise they count as changes,
// and some changes of the page near them are missed. In a test with an error page at one of ten
// polls, a fifth of the changes were missed without this, and none with it.
//
// If the Poll has an error, the Transport forgets what it learnt in this fetch. The next poll is
// compared with the copy from before. So it gets the body again, and finds again what this fetch
// found. Fetches of the same page that overlap with this one may find it a second time, too.
//
// To store only what has changed, call End with the client's error and look at Poll.Changed. If the
// store then fails, call End again with the error of the store, and tell the learner the second Poll
// instead of the first. Once a fetch has ended with an error, that error stays.
//
// What a fetch learns is not saved with the Transport before the fetch has ended. So a program that
// is killed in between finds the change again after its restart.
//
// If err is nil, a redirect that was not followed is the page itself.
func (f *Fetch) End(err error) Poll {
	f.mu.Lock()
	defer f.mu.Unlock()
	p := f.poll
	switch {
	case f.failed != nil:
	case (f.open || !f.sent) && err == nil:
		f.failed = ErrNotSent
	case f.open || !f.sent:
		f.failed = errors.Join(ErrNotSent, err)
	case p.Err != nil:
		f.failed = p.Err
	default:
		f.failed = err
	}
	if p.Err = f.failed; p.Err != nil {
		p.Changed, p.Minor, p.First, p.Again, p.Decision = false, false, false, false, Undecided
		f.takeBack()
	}
	for _, l := range f.lessons {
		l.end()
	}
	return p
}
