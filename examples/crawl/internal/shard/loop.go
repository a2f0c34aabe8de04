package shard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/knapsack"
)

// A Log keeps events and snapshots. An *engine.Shard is one.
type Log interface {
	Append(ctx context.Context, record []byte) error
	Mark() engine.Mark
	Snapshot(ctx context.Context, at engine.Mark, state []byte) error
	// Lost is closed when the shard is another node's for good. While it is not Sure nothing may be
	// polled for it, and what is under way when Held ends is to be abandoned.
	Lost() <-chan struct{}
	Sure() bool
	Held() context.Context
}

// A Job is a poll to make. Whoever makes it sends what it came to, once, to Tell of its Loop, or
// calls Abandon.
type Job struct {
	Loop *Loop
	ID   uint64
	URL  string
	Host string
	Copy []byte // what is remembered of the page's copy
	// Delay is the least time between two polls of the host, in seconds, as far as the learner was told; −1 if
	// it was not.
	Delay float64
}

// Config describes a Loop.
type Config struct {
	State *State
	Log   Log // nil for none
	Clock clock.Clock
	// PerSecond is the budget, in polls. First copies draw on it, too.
	PerSecond float64
	// FreeCopies has first copies cost nothing while PerSecond is 0.
	FreeCopies bool
	// Window is the greatest number of polls in flight.
	Window int
	// Submit takes a poll to be made. It must not wait.
	Submit func(Job)
	// Applied, if not nil, is told of each event once it counts.
	Applied func(*Event)
	// Saving, if not nil, is called before the state is saved.
	Saving func(*State)
	// Behind, if not nil, is told when the window is full while polls are due, and when that is
	// over.
	Behind func(bool)
	// Stop, if not nil, ends the asking when it is closed; Run returns when all is answered and
	// saved.
	Stop <-chan struct{}
	// IDs is added to the numbers of polls, so that they differ from those before a restart.
	IDs uint64
}

const (
	packEvents = 256                  // in a record
	packBytes  = engine.MaxRecord / 2 // likewise: a last event may add a copy of 64 KB
	// Linger is the time for more events to join a record.
	Linger = 5 * time.Millisecond
	burst  = 1.0 // seconds of the budget that may be made up for
	// CopyShare is the share of the budget that first copies get while there are other pages to poll:
	// new pages come in, and what is known stays current.
	CopyShare = 0.5
	// longestInterval from one poll to the next is so short that 64 of them are a time.Duration.
	longestInterval = 365 * 24 * time.Hour
	// SnapshotShare is that of the latest snapshot as long as which the log since must be for
	// another: so at most as much is written for snapshots as twice the log, and replayed as half
	// the state.
	SnapshotShare = 0.5
	snapshotLeast = 1 << 20
	// When the loop is to stop, farewell is the time for polls in flight to end, lastRecord that for
	// what they found to be logged after that, and lastSnapshot that for the state to be saved.
	farewell     = 10 * time.Second
	lastRecord   = 5 * time.Second
	lastSnapshot = 30 * time.Second
)

// ErrEnded reports that a loop does not run any more: its shard is another node's, or nobody's.
var ErrEnded = errors.New("shard: its loop has ended")

// errGone reports a page that is known, and of which its host said that it will never be there again.
var errGone = errors.New("the page is gone for good (status 410): it is polled no more")

// ErrUnlogged reports that a loop was to stop while its log could not be written. What was found is
// found again.
var ErrUnlogged = errors.New("shard: the latest polls could not be logged before the end; they are made again")

// A Loop runs a shard: it asks the learner as the budget allows, logs what polls found, and applies
// it once it is logged. One goroutine does it all; Do and Tell reach it from others.
type Loop struct {
	cfg   Config
	calls chan func(*State)
	found chan Event
	ended chan struct{} // closed when Run has returned
	alive context.Context
	die   context.CancelFunc

	id       uint64
	inFlight int       // polls submitted, answered or not
	due      time.Time // of the next poll
	copyDue  time.Time // of the next first copy
	notReady time.Time // the learner has none before
	asking   bool      // whether polls are asked for at all
	behind   bool

	pending      []Event
	pendingBytes int
	oldest       time.Time // real time of the first of them
	appending    []Event   // in a record under way
	appended     chan error
	saved        chan error // of a snapshot
	saving       bool
	sinceEvents  int // since the latest snapshot
	sinceBytes   int
	sizeSnapshot int  // of the latest one
	timed        bool // whether the learner in it had a time scale

	farewell, lastRecord, lastSnapshot time.Duration

	Unspent float64 // polls of the budget for which there was no page; read it in Do
	Spent   uint64  // polls asked for, first copies included
}

// NewLoop returns a loop.
func NewLoop(cfg Config) *Loop {
	alive, die := context.WithCancel(context.Background())
	return &Loop{
		alive: alive, die: die,
		cfg: cfg, calls: make(chan func(*State)), found: make(chan Event, 4*packEvents), ended: make(chan struct{}),
		id: cfg.IDs, asking: true, appended: make(chan error, 1), saved: make(chan error, 1),
		farewell: farewell, lastRecord: lastRecord, lastSnapshot: lastSnapshot,
	}
}

// Do calls a function with the state, while nothing else happens to it.
func (l *Loop) Do(ctx context.Context, do func(*State)) error {
	done := make(chan struct{})
	select {
	case l.calls <- func(s *State) { defer close(done); do(s) }:
		<-done
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.ended:
		return ErrEnded
	}
}

// Tell takes an event: what a poll came to, or a wish of the user's.
func (l *Loop) Tell(ctx context.Context, e Event) {
	select {
	case l.found <- e:
	case <-ctx.Done():
	case <-l.ended: // what was not logged is found again
	}
}

// Abandon takes a poll back that was not made, or not to its end: its page may be asked for again.
func (l *Loop) Abandon(ctx context.Context, j Job) {
	_ = l.Do(ctx, func(*State) { l.abandon(j.URL) }) // or the loop has ended
}

func (l *Loop) abandon(url string) {
	l.inFlight = max(l.inFlight-1, 0)
	p := l.cfg.State.Page(url)
	if p == nil {
		return
	}
	p.taken = false
	l.notReady = time.Time{} // the learner may have the page sooner than what it had before
	if p.Stage == Crawled {
		_ = l.cfg.State.Learner.GiveBack(url, l.cfg.Clock.Now()) // or it was not asked for
	}
}

// Sure reports whether the shard may be polled for.
func (l *Loop) Sure() bool { return l.alive.Err() == nil && (l.cfg.Log == nil || l.cfg.Log.Sure()) }

// Alive returns a context that ends when the loop does: what was asked for and is not under way by
// then is another owner's.
func (l *Loop) Alive() context.Context { return l.alive }

// Held returns a context that ends when Sure does.
func (l *Loop) Held() context.Context {
	if l.cfg.Log == nil {
		return context.Background()
	}
	return l.cfg.Log.Held()
}

// PollNow polls a page that the learner did not ask for, unless it is being polled already.
func (l *Loop) PollNow(ctx context.Context, url string) error {
	var err error
	if failed := l.Do(ctx, func(s *State) {
		p := s.Page(url)
		switch {
		case p == nil:
			err = fmt.Errorf("%w: %s", knapsack.ErrUnknown, url)
			return
		case p.Stage == Ended:
			err = errGone
			return
		}
		for asked := range s.Learner.InFlight() {
			if asked == url {
				return
			}
		}
		if !p.taken {
			p.taken = true
			l.submit(p)
		}
	}); failed != nil {
		return failed
	}
	return err
}

// SetWindow changes the greatest number of polls in flight; call it in Do.
func (l *Loop) SetWindow(polls int) { l.cfg.Window = polls }

// SetRate changes the budget; call it in Do.
func (l *Loop) SetRate(perSecond float64) {
	before := l.cfg.PerSecond
	l.cfg.PerSecond = perSecond
	if before <= 0 || perSecond <= before {
		return
	}
	now := l.cfg.Clock.Now() // what a small budget put off by hours is not to wait for so long
	for _, due := range []*time.Time{&l.due, &l.copyDue} {
		if wait := due.Sub(now); wait > 0 {
			*due = now.Add(time.Duration(float64(wait) * before / perSecond))
		}
	}
}

// InFlight returns the number of polls under way; call it in Do.
func (l *Loop) InFlight() int { return l.inFlight }

// Rate returns the budget; call it in Do.
func (l *Loop) Rate() float64 { return l.cfg.PerSecond }

// Learn logs and applies events before the loop runs. Those that cannot be logged are left out.
func (l *Loop) Learn(ctx context.Context, events []Event) error {
	if slices.ContainsFunc(events, func(e Event) bool { return e.check() != nil }) {
		events = slices.DeleteFunc(slices.Clone(events), func(e Event) bool { return !l.fits(&e) })
	}
	for len(events) > 0 {
		n, size := 0, 0
		for ; n < len(events) && size < packBytes; n++ {
			size += eventSize(&events[n])
		}
		if err := l.write(ctx, events[:n]); err != nil {
			return err
		}
		if err := l.apply(events[:n]); err != nil {
			return err
		}
		l.sinceEvents += n
		l.sinceBytes += size
		events = events[n:]
	}
	return nil
}

// fits reports whether an event can be logged, and says so if not. Hints are dropped in silence: their
// times are what third parties say.
func (l *Loop) fits(e *Event) bool {
	err := e.check()
	if err != nil && e.Kind != Hint {
		slog.Error("something is left out: its record could not be read again", "error", err)
	}
	return err == nil
}

func eventSize(e *Event) int { return 100 + len(e.URL) + len(e.Copy) }

func (l *Loop) write(ctx context.Context, events []Event) error {
	if l.cfg.Log == nil {
		return nil
	}
	record, err := encode(events)
	if err != nil {
		return err
	}
	return l.cfg.Log.Append(ctx, record)
}

func (l *Loop) apply(events []Event) error {
	for i := range events {
		if err := l.cfg.State.Apply(&events[i]); err != nil {
			return fmt.Errorf("shard: %s: %w", events[i].URL, err)
		}
		if l.cfg.Applied != nil {
			l.cfg.Applied(&events[i])
		}
	}
	return nil
}

// Run runs the shard until the context ends, Stop is closed, or the log fails. After Stop it takes a
// minute at most, whatever the log does.
func (l *Loop) Run(ctx context.Context) error {
	defer close(l.ended)
	defer l.die()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var lost <-chan struct{}
	if l.cfg.Log != nil {
		lost = l.cfg.Log.Lost()
	}
	stop := l.cfg.Stop
	l.begin()
	l.timed = l.cfg.State.timed() // if it is restored, that is from a snapshot
	var deadline, end <-chan time.Time
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		if l.asking && l.Sure() {
			if err := l.ask(); err != nil {
				return err
			}
		}
		l.flush(ctx)
		if !l.asking && l.inFlight == 0 && l.idle() {
			return l.leave(ctx)
		}
		timer.Reset(l.pause())
		var err error
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-lost:
			err = engine.ErrFenced
		case <-stop:
			stop, l.asking = nil, false
			deadline = time.After(l.farewell)
		case <-deadline:
			l.inFlight = 0 // those who do not answer are asked again after a restart
			end = time.After(l.lastRecord)
		case <-end:
			err = ErrUnlogged // cancels the append
		case call := <-l.calls:
			call(l.cfg.State)
		case e := <-l.found:
			l.take(e)
		case err = <-l.appended:
			if err == nil {
				err = l.landed(ctx)
			}
		case err = <-l.saved:
			l.saving = false
			err = tolerated(err)
		case <-timer.C:
		}
		if err != nil {
			return err
		}
	}
}

// begin sets when the first poll is due. The latest one of before a restart, or of another node's, counts: or each
// restart would cost a poll, however small the budget is.
func (l *Loop) begin() {
	now := l.cfg.Clock.Now()
	l.due = now
	if l.cfg.PerSecond <= 0 {
		return
	}
	latest := l.cfg.State.Latest
	if latest.After(now) { // by a clock that was wrong
		latest = now
	}
	if next := latest.Add(l.interval()); next.After(now) {
		l.due = next
	}
	l.copyDue = l.due
}

// idle reports whether all that was found is applied.
func (l *Loop) idle() bool { return len(l.pending) == 0 && l.appending == nil && len(l.found) == 0 }

// ask submits the polls that are due.
func (l *Loop) ask() error {
	now := l.cfg.Clock.Now()
	if l.cfg.PerSecond <= 0 {
		l.due = now
		return nil
	}
	interval := l.interval()
	if late := now.Sub(l.due) - max(time.Duration(burst*float64(time.Second)), 64*interval); late > 0 {
		l.due = l.due.Add(late)
		l.Unspent += float64(late) / float64(interval)
	}
	later := now.Add(max(interval, time.Second)) // an answer makes it sooner
	vetoed := map[string]bool{}                  // pages that were given back
	for !l.due.After(now) && l.inFlight < l.cfg.Window && !l.notReady.After(now) {
		url, err := l.cfg.State.Learner.Next(now)
		var none *knapsack.NoPageError
		if errors.As(err, &none) {
			if l.notReady = none.Time(); l.notReady.IsZero() {
				l.notReady = later
			}
			break
		}
		if err != nil {
			return err
		}
		if l.cfg.State.vetoed(url, now) {
			if err := l.cfg.State.Learner.GiveBack(url, now); err != nil {
				return err
			}
			if vetoed[url] { // it has no other
				l.notReady = later
				break
			}
			vetoed[url] = true
			continue
		}
		p := l.cfg.State.Page(url)
		if p.taken { // by the user, see PollNow: the answer will do for both
			continue
		}
		l.due = l.due.Add(interval)
		l.Spent++
		l.submit(p)
	}
	l.setBehind(!l.due.After(now) && l.inFlight >= l.cfg.Window)
	return nil
}

func (l *Loop) setBehind(behind bool) {
	if behind != l.behind && l.cfg.Behind != nil {
		l.behind = behind
		l.cfg.Behind(behind)
	}
}

func (l *Loop) submit(p *Page) { l.cfg.Submit(l.job(p)) }

func (l *Loop) job(p *Page) Job {
	l.id++
	l.inFlight++
	delay := p.Host.Delay
	if !p.Host.grouped {
		delay = -1
	}
	return Job{Loop: l, ID: l.id, URL: p.URL, Host: p.Host.Name, Copy: p.copy, Delay: delay}
}

// Take returns the poll of a first copy for the caller to make, and pays for it from the budget. Where
// that does not allow it yet, wait is positive: then it is worth another attempt, after that time or
// when the budget changes. There is none if the page has a copy or was taken already, or if its host
// rests. Call it in Do.
func (l *Loop) Take(url string) (job Job, wait time.Duration, ok bool) {
	p := l.cfg.State.Page(url)
	if p == nil || p.Stage != Waiting || p.taken || !l.asking || !l.Sure() {
		return job, 0, false
	}
	now := l.cfg.Clock.Now()
	if _, rests := p.Host.Rests(now); rests {
		return job, 0, false
	}
	if wait := l.pay(now); wait > 0 {
		return job, wait, false
	}
	p.taken = true
	return l.job(p), 0, true
}

// pay takes a first copy out of the budget, or returns how long that has to wait.
func (l *Loop) pay(now time.Time) (wait time.Duration) {
	switch {
	case l.cfg.PerSecond <= 0 && l.cfg.FreeCopies:
		return 0
	case l.cfg.PerSecond <= 0:
		return time.Second
	case l.copyDue.After(now):
		return l.copyDue.Sub(now)
	}
	interval := l.interval()
	l.due = l.due.Add(interval)
	l.Spent++
	if oldest := now.Add(-time.Duration(burst * float64(time.Second))); l.copyDue.Before(oldest) {
		l.copyDue = oldest
	}
	if l.copyDue = l.copyDue.Add(interval); l.cfg.State.Learner.Len() > 0 {
		l.copyDue = l.copyDue.Add(time.Duration(float64(interval) * (1/CopyShare - 1)))
	}
	return 0
}

// interval returns the time from one poll to the next.
func (l *Loop) interval() time.Duration {
	return time.Duration(min(float64(time.Second)/l.cfg.PerSecond, float64(longestInterval)))
}

// take puts an event with those that wait for the next record. A poll that cannot be logged is taken
// back.
func (l *Loop) take(e Event) {
	for {
		switch {
		case l.fits(&e):
			if len(l.pending) == 0 {
				l.oldest = time.Now()
			}
			l.pending = append(l.pending, e)
			l.pendingBytes += eventSize(&e)
		case e.Kind == Polled:
			l.abandon(e.URL)
		}
		if len(l.pending) >= packEvents || l.pendingBytes >= packBytes {
			return
		}
		select {
		case e = <-l.found:
		default:
			return
		}
	}
}

// flush begins the next record, if there is enough for one or the first event has waited.
func (l *Loop) flush(ctx context.Context) {
	if l.appending != nil || len(l.pending) == 0 {
		return
	}
	if len(l.pending) < packEvents && l.pendingBytes < packBytes && l.inFlight > len(l.pending) && time.Since(l.oldest) < Linger {
		return
	}
	n, size := 0, 0 // what came while the record before was written may be too much for one
	for ; n < len(l.pending) && size < packBytes; n++ {
		size += eventSize(&l.pending[n])
	}
	l.appending, l.pending = l.pending[:n:n], l.pending[n:]
	l.sinceEvents += n
	l.sinceBytes += size
	l.pendingBytes -= size
	if l.cfg.Log == nil {
		l.appended <- nil
		return
	}
	events := l.appending
	go func() { l.appended <- l.write(ctx, events) }()
}

// landed applies the record that has been written.
func (l *Loop) landed(ctx context.Context) error {
	events := l.appending
	l.appending = nil
	for i := range events {
		if events[i].Kind == Polled {
			l.inFlight = max(l.inFlight-1, 0)
		}
	}
	l.notReady = time.Time{}
	if err := l.apply(events); err != nil {
		return err
	}
	return l.snapshot(ctx, false)
}

// snapshot saves the state, if it is time to or must be. All that is logged is applied then. It is time as soon as
// the learner has a time scale: the log does not give that back, and without it teaches nothing.
func (l *Loop) snapshot(ctx context.Context, must bool) error {
	due := l.sinceBytes >= max(snapshotLeast, int(SnapshotShare*float64(l.sizeSnapshot))) || !l.timed && l.cfg.State.timed()
	if l.cfg.Log == nil || l.saving || !must && !due {
		return nil
	}
	if l.cfg.Saving != nil {
		l.cfg.Saving(l.cfg.State)
	}
	state, err := l.cfg.State.MarshalBinary()
	if err != nil {
		return err
	}
	at := l.cfg.Log.Mark()
	l.timed = l.cfg.State.timed()
	l.saving, l.sinceEvents, l.sinceBytes, l.sizeSnapshot = true, 0, 0, len(state)
	go func() { l.saved <- l.cfg.Log.Snapshot(ctx, at, state) }()
	return nil
}

// leave saves the state for the next start, if that does not take too long: the log will do.
func (l *Loop) leave(ctx context.Context) error {
	l.setBehind(false)
	ctx, cancel := context.WithTimeout(ctx, l.lastSnapshot)
	defer cancel()
	if l.saving {
		select {
		case <-l.saved:
			l.saving = false
		case <-ctx.Done():
			return tolerated(ctx.Err())
		}
	}
	if l.cfg.Log == nil || l.sinceEvents == 0 {
		return nil
	}
	if err := l.snapshot(ctx, true); err != nil {
		return err
	}
	select {
	case err := <-l.saved:
		return tolerated(err)
	case <-ctx.Done():
		return tolerated(ctx.Err())
	}
}

// tolerated returns the error of a snapshot, unless the log will do for it.
func tolerated(err error) error {
	if err == nil || errors.Is(err, engine.ErrFenced) {
		return err
	}
	slog.Error("a snapshot failed; the log goes on", "error", err)
	return nil
}

// pause returns the real time after which there is something to do, if nothing happens.
func (l *Loop) pause() time.Duration {
	const least, most = 200 * time.Microsecond, 50 * time.Millisecond
	wait := most
	if l.asking && l.cfg.PerSecond > 0 && l.inFlight < l.cfg.Window {
		next := l.due
		if l.notReady.After(next) {
			next = l.notReady
		}
		wait = l.cfg.Clock.Real(next.Sub(l.cfg.Clock.Now()))
	}
	if len(l.pending) > 0 && l.appending == nil {
		wait = min(wait, Linger)
	}
	return min(max(wait, least), most)
}

// Restore brings a state up to date with a log.
func Restore(ctx context.Context, s *State, log *engine.Shard) error {
	return log.Restore(ctx, s.UnmarshalBinary, func(record []byte) error {
		events, err := decode(record)
		if err != nil {
			return err
		}
		for i := range events {
			if err := s.Apply(&events[i]); err != nil {
				return fmt.Errorf("%s: %w", events[i].URL, err)
			}
		}
		return nil
	})
}

// Events hands over all events of a log that are still there.
func Events(ctx context.Context, log *engine.Shard, do func(*Event) error) error {
	return log.All(ctx, func(record []byte) error {
		events, err := decode(record)
		for i := range events {
			err = errors.Join(err, do(&events[i]))
		}
		return err
	})
}
