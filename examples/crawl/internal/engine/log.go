package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	nonceHeader = "Nats-Msg-Id"
	kindHeader  = "Crawl-Kind"
	takeover    = "takeover"
	// silence is the time after which a consumer is taken to be lost that has a record to hand over.
	silence = 3 * time.Second
)

// A Shard is the log of a shard in the hands of its owner. Its methods are safe for concurrent use,
// one append at a time.
type Shard struct {
	e      *Engine
	number int
	owner  uint64 // revision of the entry of the board that says whose it is
	own    uint64 // sequence of the record of takeover, or that the next record will have at least
	looks  bool   // it is not this node's, see Look

	mu       sync.Mutex
	chain    uint64 // sequence of the last record of the log
	snapshot pointer
	aging    time.Time // since when the snapshot that ages is there, or known
}

func (s *Shard) subject(of string) string { return fmt.Sprintf("crawl.%d.%s", s.number, of) }

// Own takes a shard over. Nothing that an owner before it still has under way will count.
func (e *Engine) Own(ctx context.Context, shard int) (*Shard, error) {
	owner, err := e.take(ctx, shard)
	if err != nil {
		return nil, err
	}
	s := &Shard{e: e, number: shard, owner: owner}
	if err := s.takeOver(ctx); err != nil {
		s.Release(context.WithoutCancel(ctx)) // a node that stops gives it up, too
		return nil, err
	}
	return s, nil
}

// takeOver ends the chain of the owner before. A node that was stopped meanwhile may have lost the shard to
// another, and must not end that one's: so it looks who owns the shard after it read the end of the chain. A
// takeover of the other, which comes later still, breaks the chain.
func (s *Shard) takeOver(ctx context.Context) error {
	for {
		last, err := s.e.last(ctx, s.e.stream, s.subject("log"))
		if err != nil {
			return err
		}
		if last != nil {
			s.chain = last.Sequence
		}
		if err := s.owned(ctx); err != nil {
			return err
		}
		err = s.append(ctx, takeover, []byte(s.e.cfg.Name))
		if !errors.Is(err, ErrFenced) { // or the owner before appended once more
			s.own = s.chain
			return err
		}
	}
}

// owned returns an error if another node has taken the shard since this one did.
func (s *Shard) owned(ctx context.Context) error {
	if s.e.session == nil {
		return nil
	}
	owner, err := s.e.board.Read(ctx, ownerKey(s.number))
	if err == nil && owner.Revision != s.owner {
		err = fmt.Errorf("%w: shard %d was taken", ErrBusy, s.number)
	}
	return err
}

// Look returns a shard for its state to be restored, and no more: whoever owns it keeps it.
func (e *Engine) Look(ctx context.Context, shard int) (*Shard, error) {
	s := &Shard{e: e, number: shard, looks: true}
	last, err := e.last(ctx, e.stream, s.subject("log"))
	if err == nil && last != nil {
		s.own = last.Sequence + 1
	}
	return s, err
}

// Lost is closed when the shard may be another's for good.
func (s *Shard) Lost() <-chan struct{} {
	if s.e.session == nil {
		return nil
	}
	return s.e.session.Lost()
}

// Sure reports whether nobody else can own the shard: while that is not so, nothing may be polled
// for it.
func (s *Shard) Sure() bool { return s.e.session == nil || s.e.session.Sure() }

// Held returns a context that ends when Sure does.
func (s *Shard) Held() context.Context {
	if s.e.session == nil {
		return context.Background()
	}
	return s.e.session.Held()
}

// Release gives the shard up, so that another node need not wait.
func (s *Shard) Release(ctx context.Context) {
	if s.e.session == nil {
		return
	}
	short, cancel := context.WithTimeout(ctx, 4*attempt)
	defer cancel()
	_, _ = s.e.board.Write(short, ownerKey(s.number), nil, s.owner) // or see Disown
}

// Disown gives a shard up that this node owns by the board and does not have: Release did not get
// through, as when the engine elects. Call it while the shard is not being opened.
func (e *Engine) Disown(ctx context.Context, shard int) error {
	short, cancel := context.WithTimeout(ctx, 4*attempt)
	defer cancel()
	owner, err := e.board.Read(short, ownerKey(shard))
	if err != nil || string(owner.Value) != e.cfg.Name+"/"+e.session.id {
		return err
	}
	_, err = e.board.Write(short, ownerKey(shard), nil, owner.Revision)
	return err
}

// Append appends a record, and returns when it is there for good. After ErrTooLarge it is not, and
// another record may be appended. After ErrFenced or ErrStorage, or
// when the context ended, whether it is there is for Restore to say.
func (s *Shard) Append(ctx context.Context, record []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.append(ctx, "", record)
}

// append appends a record behind the last one of the chain.
func (s *Shard) append(ctx context.Context, kind string, record []byte) error {
	m := nats.NewMsg(s.subject("log"))
	m.Data = record
	if kind != "" {
		m.Header.Set(kindHeader, kind)
	}
	seq, err := s.e.compareAndAppend(ctx, s.e.stream, m, s.chain)
	if err != nil {
		return fmt.Errorf("shard %d: %w", s.number, err)
	}
	s.chain = seq
	return nil
}

// records calls do with the records of the log from a sequence on, up to the one before the shard
// was taken over.
func (s *Shard) records(ctx context.Context, from uint64, do func(seq uint64, record []byte) error) error {
	patience := silence
	if s.e.server != nil {
		patience = longest
	}
	for next := max(from, 1); next < s.own; {
		before := next
		err := s.e.messages(ctx, s.e.stream, jetstream.ConsumerConfig{
			FilterSubjects: []string{s.subject("log")},
			DeliverPolicy:  jetstream.DeliverByStartSequencePolicy, OptStartSeq: next,
		}, patience, func(m jetstream.Msg, about *jetstream.MsgMetadata) (bool, error) {
			seq := about.Sequence.Stream
			if seq < s.own && m.Headers().Get(kindHeader) != takeover {
				if err := do(seq, m.Data()); err != nil {
					return false, fmt.Errorf("shard %d, record %d: %w", s.number, seq, err)
				}
			}
			next = seq + 1
			return seq >= s.own || s.looks && next == s.own, nil
		})
		stuck := s.e.server != nil && next == before // nobody else will do better
		if err != nil && (stuck || !errors.Is(err, errLost)) {
			return err
		}
		if err != nil && next == before {
			if err := s.reaches(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// reaches returns an error if the log does not reach to where the shard was taken over: servers that lost the
// end of it have no more to hand over, and would be waited for without end.
func (s *Shard) reaches(ctx context.Context) error {
	end := s.own
	if s.looks {
		end--
	}
	last, err := s.e.last(ctx, s.e.stream, s.subject("log"))
	if err == nil && (last == nil || last.Sequence < end) {
		err = fmt.Errorf("%w: shard %d: the end of the log was lost while it was read", ErrState, s.number)
	}
	return err
}
