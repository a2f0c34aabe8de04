package frontier

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/examples/crawl/internal/frontier/book"
)

// A Log keeps records and snapshots. An *engine.Shard is one.
type Log interface {
	Append(ctx context.Context, record []byte) error
	Mark() engine.Mark
	Replay(ctx context.Context, at engine.Mark, load, apply func([]byte) error) error
	Snapshot(ctx context.Context, at engine.Mark, state []byte) error
}

const (
	packBytes = engine.MaxRecord / 2
	// waiting is the number of packs after which a call waits before it changes anything: as much
	// as a log takes in a tenth of a second.
	waiting = 64
	// A snapshot is due when the log since the last one is as long as half of it, as in package
	// shard.
	snapshotLeast = 1 << 20
	snapshotShare = 0.5
	// tick is the least time between two events, which puts them in order.
	tick = 1e-6
)

// A journal owns a state, and logs what changes it. The state is ahead of the log, so nobody may be
// told of a change before its pack is in the log.
type journal struct {
	log   Log
	clock clock.Clock

	mu      sync.Mutex
	more    sync.Cond // a pack was begun, or the journal is closed
	room    sync.Cond // a pack was logged
	state   *book.State
	now     float64
	packs   []*pack // to be logged, oldest first
	newest  *pack   // the one begun last
	closing bool
	err     error // the log failed: the state is ahead of it for good

	sinceBytes, sizeSnapshot int
	saving                   sync.WaitGroup
	isSaving                 bool
	lastSnapshot             time.Duration
}

// A pack is a record that is to be logged.
type pack struct {
	events []book.Event
	bytes  int
	done   chan struct{}
	err    error
}

// Wait returns when what is in the pack is in the log, or cannot be.
func (p *pack) Wait() error {
	<-p.done
	return p.err
}

// nothing is a pack that has nothing to wait for.
var nothing = func() *pack {
	p := &pack{done: make(chan struct{})}
	close(p.done)
	return p
}()

func newJournal(s *book.State, log Log, c clock.Clock) *journal {
	j := &journal{log: log, clock: c, state: s, now: s.Latest, newest: nothing, lastSnapshot: lastSnapshot}
	j.more.L, j.room.L = &j.mu, &j.mu
	return j
}

// time returns the time of an event, after that of all others.
func (j *journal) time() float64 {
	j.now = max(j.now+tick, float64(j.clock.Now().UnixNano())/1e9)
	return j.now
}

// Do calls a function with the state and the time, and returns the pack that its events are in. If there are none
// it is that of the latest change, which the function may have seen.
func (j *journal) Do(do func(s *book.State, now float64) ([]book.Event, error)) (*pack, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for len(j.packs) >= waiting && j.err == nil {
		j.room.Wait()
	}
	if j.err != nil {
		return nil, j.err
	}
	if j.closing {
		return nil, errClosed
	}
	events, err := do(j.state, j.time())
	if err != nil {
		j.fail(err)
		return nil, err
	}
	if len(events) == 0 {
		return j.newest, nil
	}
	return j.pack(events), nil
}

// Apply changes the state by an event, and returns how many URLs are gone. One that cannot be logged
// changes nothing.
func (j *journal) Apply(e book.Event) (gone int, p *pack, err error) {
	if err := e.Check(); err != nil {
		return 0, nil, err
	}
	p, err = j.Do(func(s *book.State, now float64) ([]book.Event, error) {
		e.At = now
		var err error
		gone, err = s.Apply(&e)
		return []book.Event{e}, err
	})
	return gone, p, err
}

// View calls a function with the state and the time.
func (j *journal) View(do func(s *book.State, now float64)) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err != nil {
		return j.err
	}
	do(j.state, j.time())
	return nil
}

// errClosed reports that the server is about to end.
var errClosed = errors.New("frontier: the server is closing")

// pack puts events into the newest pack, or a new one if that is full.
func (j *journal) pack(events []book.Event) *pack {
	size := 0
	for i := range events {
		size += events[i].Size()
	}
	var p *pack
	if n := len(j.packs); n > 0 {
		p = j.packs[n-1]
	}
	if p == nil || p.bytes+size > packBytes {
		p = &pack{done: make(chan struct{})}
		j.packs, j.newest = append(j.packs, p), p
		j.more.Signal()
	}
	p.events = append(p.events, events...)
	p.bytes += size
	return p
}

// fail has all calls fail from now on.
func (j *journal) fail(err error) {
	if j.err == nil {
		j.err = fmt.Errorf("frontier: %w", err)
	}
	for _, p := range j.packs {
		p.err = j.err
		close(p.done)
	}
	j.packs = nil
	j.more.Broadcast()
	j.room.Broadcast()
}

// Run logs packs until the journal is closed and all is logged, or until the log fails or the context
// ends.
func (j *journal) Run(ctx context.Context) error {
	saving, cancel := context.WithCancel(ctx)
	defer cancel()
	j.mu.Lock()
	defer j.mu.Unlock()
	for {
		for len(j.packs) == 0 && !j.closing && j.err == nil {
			j.more.Wait()
		}
		if j.err != nil || len(j.packs) == 0 {
			cancel() // there will be a later snapshot, or none
			return j.end(ctx)
		}
		p := j.packs[0]
		j.packs = j.packs[1:]
		j.mu.Unlock()
		err := j.write(ctx, p)
		j.mu.Lock()
		if err != nil {
			p.err = err
			close(p.done)
			j.fail(err)
			continue
		}
		j.logged(p)
		if j.due() {
			j.snapshot(saving)
		}
	}
}

func (j *journal) write(ctx context.Context, p *pack) error {
	record, err := book.Encode(p.events)
	if err != nil {
		return err
	}
	return j.log.Append(ctx, record)
}

func (j *journal) logged(p *pack) {
	j.sinceBytes += p.bytes
	close(p.done)
	j.room.Broadcast()
}

func (j *journal) due() bool {
	return !j.isSaving && j.sinceBytes >= max(snapshotLeast, int(snapshotShare*float64(j.sizeSnapshot)))
}

// snapshot saves the state as the log has it. Calls need not wait for that: the state is a function
// of its log, so another one is made, from the snapshot before and the records since. It takes the
// memory of a second state, and the time of a start, but none of the lock.
func (j *journal) snapshot(ctx context.Context) {
	at, another, since := j.log.Mark(), j.state.Fresh(), j.sinceBytes
	j.isSaving, j.sinceBytes = true, 0
	j.saving.Go(func() {
		err := j.log.Replay(ctx, at, another.UnmarshalBinary, func(record []byte) error { return apply(another, record) })
		var data []byte
		if err == nil {
			data, err = another.MarshalBinary()
		}
		another = nil
		if err == nil {
			err = j.log.Snapshot(ctx, at, data)
		}
		j.mu.Lock()
		defer j.mu.Unlock()
		j.isSaving = false
		if err == nil {
			j.sizeSnapshot = len(data)
			return
		}
		if ctx.Err() != nil {
			j.sinceBytes += since
			return
		}
		j.saved(err)
	})
}

// saved takes note of whether a snapshot was stored.
func (j *journal) saved(err error) {
	if errors.Is(err, engine.ErrFenced) {
		j.fail(err)
	} else if err != nil {
		slog.Error("a snapshot failed; the log goes on", "error", err)
	}
}

// end saves the state for the next start. Nobody waits for it any more, so that it is this one.
func (j *journal) end(ctx context.Context) error {
	j.mu.Unlock()
	j.saving.Wait()
	j.mu.Lock()
	if j.err != nil || j.sinceBytes == 0 {
		return j.err
	}
	data, err := j.state.MarshalBinary()
	if err != nil {
		j.fail(err)
		return j.err
	}
	at := j.log.Mark()
	j.mu.Unlock()
	short, cancel := context.WithTimeout(context.WithoutCancel(ctx), j.lastSnapshot)
	defer cancel()
	err = j.log.Snapshot(short, at, data)
	j.mu.Lock()
	j.saved(err)
	return j.err
}

// Close has Run end once all is logged. Calls fail from then on.
func (j *journal) Close() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.closing = true
	j.more.Broadcast()
}

// Restore brings a state up to date with a log.
func Restore(ctx context.Context, s *book.State, log *engine.Shard) error {
	return log.Restore(ctx, s.UnmarshalBinary, func(record []byte) error { return apply(s, record) })
}

// apply applies a record of the log.
func apply(s *book.State, record []byte) error {
	events, err := book.Decode(record)
	if err != nil {
		return err
	}
	for i := range events {
		if _, err := s.Apply(&events[i]); err != nil {
			return err
		}
	}
	return nil
}

// Time returns the time of a number of seconds.
func Time(seconds float64) time.Time {
	return time.Unix(0, int64(seconds*1e9))
}
