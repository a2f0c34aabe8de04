package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	boardName    = "CRAWL_BOARD"
	boardSubject = "crawlboard."
	// forgotten is the time after which it is deleted that a node is gone.
	forgotten = time.Hour
)

// A Note is an entry of the board. An empty value stands for none.
type Note struct {
	Value    []byte
	Revision uint64
	At       time.Time // by the server's clock, which may be set: it tells entries apart, and no more
	seen     time.Time // by this process's clock: when it was first seen here
}

// A Board is a small table that all nodes see and write: which node is there, who owns a shard, and
// what else they agree on. Writes are on the condition that the entry is still the one that the
// writer knows. View is what has arrived of it, in the order in which it was written.
type Board struct {
	e      *Engine
	stream jetstream.Stream

	mu      sync.Mutex
	notes   map[string]Note
	latest  map[string]Note // that arrived, read or seen; without their values
	changed chan struct{}
}

// Board returns the board of the cluster; nil where there is no Session.
func (e *Engine) Board() *Board { return e.board }

func (e *Engine) createBoard(ctx context.Context) error {
	b := &Board{e: e, notes: map[string]Note{}, latest: map[string]Note{}, changed: make(chan struct{})}
	err := e.patiently(ctx, func(ctx context.Context) (err error) {
		b.stream, err = e.js.Stream(ctx, boardName)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			b.stream, err = e.js.CreateStream(ctx, jetstream.StreamConfig{
				Name: boardName, Subjects: []string{boardSubject + ">"}, MaxMsgsPerSubject: 1, AllowMsgTTL: true,
				Storage: jetstream.FileStorage, Replicas: e.cfg.Replicas,
				// Reads are from the leader: a follower may be late.
				AllowDirect: false,
			})
		}
		return err
	})
	if err == nil {
		e.board = b
	}
	return err
}

// Read returns an entry as it is now.
func (b *Board) Read(ctx context.Context, key string) (n Note, err error) {
	last, err := b.e.last(ctx, b.stream, boardSubject+key)
	if err == nil && last != nil {
		n = b.arrived(key, Note{Value: last.Data, Revision: last.Sequence, At: last.Time})
	}
	return n, err
}

// arrived takes note of when an entry was first seen. That of a revision that was seen before is not new, unless
// its time is another: servers that lost the end of what they had give revisions again.
func (b *Board) arrived(key string, n Note) Note {
	b.mu.Lock()
	defer b.mu.Unlock()
	n.seen = time.Now()
	if before, ok := b.latest[key]; ok && before.Revision == n.Revision && before.At.Equal(n.At) {
		n.seen = before.seen
	}
	if len(n.Value) == 0 {
		delete(b.latest, key)
	} else {
		b.latest[key] = Note{Revision: n.Revision, At: n.At, seen: n.seen}
	}
	return n
}

// Write replaces an entry, if its revision is still the one given, 0 for none, and returns the new
// one. [ErrFenced] if it is not.
func (b *Board) Write(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	m := nats.NewMsg(boardSubject + key)
	m.Data = value
	return b.e.compareAndAppend(ctx, b.stream, m, revision)
}

// Put replaces an entry, whatever it is. A server that dies with the request leaves it unanswered;
// it is then asked again.
func (b *Board) Put(ctx context.Context, key string, value []byte) error {
	return b.e.patiently(ctx, func(ctx context.Context) error {
		_, err := b.e.js.Publish(ctx, boardSubject+key, value)
		return err
	})
}

// say is Write for what is said of a node. That it is gone is forgotten after a while. A node that is there is
// not, however the servers' clocks are set.
func (b *Board) say(ctx context.Context, key string, value []byte, revision uint64) (uint64, error) {
	m := nats.NewMsg(boardSubject + key)
	m.Data = value
	if len(value) == 0 {
		m.Header.Set(jetstream.MsgTTLHeader, forgotten.String())
	}
	return b.e.compareAndAppend(ctx, b.stream, m, revision)
}

// View returns the entries whose keys begin alike, without the beginning, and a channel that is
// closed when any entry changes.
func (b *Board) View(prefix string) (notes map[string]Note, changed <-chan struct{}) {
	b.mu.Lock()
	defer b.mu.Unlock()
	notes = map[string]Note{}
	for key, n := range b.notes {
		if rest, ok := strings.CutPrefix(key, prefix); ok && len(n.Value) > 0 {
			notes[rest] = n
		}
	}
	return notes, b.changed
}

// watch keeps the view up to date. Each node says something every quarter of a lease; where nothing
// arrives for a whole one the consumer is lost, and is made anew.
func (b *Board) watch(ctx context.Context) {
	for ctx.Err() == nil {
		err := b.follow(ctx)
		b.e.cfg.Log.Debug("the board is read anew", "error", err)
		select {
		case <-ctx.Done():
		case <-time.After(reconnect):
		}
	}
}

// follow reads the board from its beginning, and replaces the view when all is there: revisions start anew
// from an earlier one where the servers lost the end of what they had, as by a loss of power, and what was seen of
// it is not so any more.
func (b *Board) follow(ctx context.Context) error {
	cfg := jetstream.ConsumerConfig{DeliverPolicy: jetstream.DeliverLastPerSubjectPolicy, FilterSubjects: []string{boardSubject + ">"}}
	fresh, whole := map[string]Note{}, false
	return b.e.messages(ctx, b.stream, cfg, b.e.cfg.Lease, func(m jetstream.Msg, about *jetstream.MsgMetadata) (bool, error) {
		key := strings.TrimPrefix(m.Subject(), boardSubject)
		fresh[key] = b.arrived(key, Note{Value: m.Data(), Revision: about.Sequence.Stream, At: about.Timestamp})
		if whole = whole || about.NumPending == 0; whole {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.notes = maps.Clone(fresh)
			close(b.changed)
			b.changed = make(chan struct{})
		}
		return false, nil
	})
}

// last returns the last message of a subject, nil if there is none.
func (e *Engine) last(ctx context.Context, stream jetstream.Stream, subject string) (m *jetstream.RawStreamMsg, err error) {
	err = e.patiently(ctx, func(ctx context.Context) error {
		m, err = stream.GetLastMsgForSubject(ctx, subject)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			m = nil
			return nil
		}
		return err
	})
	return m, err
}

// compareAndAppend appends a message to its subject, if the last one there has a given sequence, 0
// for none, and returns its own. Where the answer is not clear, it reads what the last one is: its
// own, that before it, or another's, which is [ErrFenced]. A message that the server does not take for
// its size is [ErrTooLarge].
func (e *Engine) compareAndAppend(ctx context.Context, stream jetstream.Stream, m *nats.Msg, chain uint64) (uint64, error) {
	nonce, first := rand.Text(), time.Now()
	for began := first; ; {
		if err := e.space(); err != nil {
			return 0, err
		}
		short, cancel := context.WithTimeout(ctx, attempt)
		ack, err := e.js.PublishMsg(short, m, jetstream.WithMsgID(nonce), jetstream.WithExpectLastSequencePerSubject(chain))
		cancel()
		if err == nil {
			return ack.Sequence, nil
		}
		if errors.Is(err, nats.ErrMaxPayload) {
			return 0, fmt.Errorf("%w: %s, %d bytes: %w", ErrTooLarge, m.Subject, len(m.Data), err)
		}
		began = e.complain(began, err)
		if full := e.full(err); full != nil {
			return 0, full
		}
		if e.server != nil && time.Since(first) > mute {
			return 0, e.silent(err)
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		last, err := e.last(ctx, stream, m.Subject)
		if err != nil {
			return 0, err
		}
		switch {
		case last != nil && last.Header.Get(nonceHeader) == nonce:
			return last.Sequence, nil
		case last == nil && chain == 0, last != nil && last.Sequence == chain:
			time.Sleep(20 * time.Millisecond)
		default:
			return 0, ErrFenced
		}
	}
}
