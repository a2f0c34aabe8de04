package engine

import (
	"context"
	"crypto/rand"
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
)

// A Shard is the log of a shard in the hands of its owner. Its methods are safe for concurrent use,
// one append at a time.
type Shard struct {
	e      *Engine
	number int
	lease  *lease
	own    uint64 // sequence of the record of takeover

	mu       sync.Mutex
	chain    uint64 // sequence of the last record of the log
	snapshot pointer
}

func (s *Shard) subject(of string) string { return fmt.Sprintf("crawl.%d.%s", s.number, of) }

// Own takes a shard over. Nothing that an owner before it still has under way will count.
func (e *Engine) Own(ctx context.Context, shard int) (*Shard, error) {
	l, err := e.take(ctx, shard)
	if err != nil {
		return nil, err
	}
	s := &Shard{e: e, number: shard, lease: l}
	for {
		last, err := s.last(ctx)
		if err == nil && last != nil {
			s.chain = last.Sequence
		}
		if err == nil {
			err = s.append(ctx, takeover, []byte(e.cfg.Name))
		}
		switch {
		case err == nil:
			s.own = s.chain
			return s, nil
		case errors.Is(err, ErrFenced): // the owner before appended once more
		default:
			l.release(ctx)
			return nil, err
		}
	}
}

// Lost is closed when the lease is no longer sure: the owner should stop polling.
func (s *Shard) Lost() <-chan struct{} { return s.lease.lost }

// Release gives the shard up.
func (s *Shard) Release(ctx context.Context) { s.lease.release(ctx) }

// last returns the last record of the log, nil if it is empty.
func (s *Shard) last(ctx context.Context) (m *jetstream.RawStreamMsg, err error) {
	err = s.e.patiently(ctx, func(ctx context.Context) error {
		m, err = s.e.stream.GetLastMsgForSubject(ctx, s.subject("log"))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		return err
	})
	return m, err
}

// Append appends a record, and returns when it is there for good. After ErrFenced or ErrStorage, or
// when the context ended, whether it is there is for Restore to say.
func (s *Shard) Append(ctx context.Context, record []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.append(ctx, "", record)
}

// append appends a record behind the last one of the chain. Where the answer is not clear, it reads
// what the last record is: its own, that before it, or another owner's.
func (s *Shard) append(ctx context.Context, kind string, record []byte) error {
	m := nats.NewMsg(s.subject("log"))
	m.Data = record
	if kind != "" {
		m.Header.Set(kindHeader, kind)
	}
	nonce := rand.Text()
	for {
		if err := s.e.space(); err != nil {
			return err
		}
		short, cancel := context.WithTimeout(ctx, attempt)
		ack, err := s.e.js.PublishMsg(short, m, jetstream.WithMsgID(nonce), jetstream.WithExpectLastSequencePerSubject(s.chain))
		cancel()
		if err == nil {
			s.chain = ack.Sequence
			return nil
		}
		if full := s.e.full(err); full != nil {
			return full
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		last, err := s.last(ctx)
		if err != nil {
			return err
		}
		switch {
		case last != nil && last.Header.Get(nonceHeader) == nonce:
			s.chain = last.Sequence
			return nil
		case last == nil && s.chain == 0, last != nil && last.Sequence == s.chain:
			time.Sleep(20 * time.Millisecond)
		default:
			return fmt.Errorf("%w: shard %d", ErrFenced, s.number)
		}
	}
}

// records calls do with the records of the log from a sequence on, up to the one before the shard
// was taken over.
func (s *Shard) records(ctx context.Context, from uint64, do func(seq uint64, record []byte) error) error {
	if from >= s.own {
		return nil
	}
	cfg := jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{s.subject("log")},
		DeliverPolicy:  jetstream.DeliverByStartSequencePolicy, OptStartSeq: max(from, 1),
	}
	var consumer jetstream.Consumer
	err := s.e.patiently(ctx, func(ctx context.Context) (err error) {
		consumer, err = s.e.stream.OrderedConsumer(ctx, cfg)
		return err
	})
	if err != nil {
		return err
	}
	it, err := consumer.Messages(jetstream.PullExpiry(2*time.Second), jetstream.PullHeartbeat(500*time.Millisecond))
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	defer it.Stop()
	for {
		m, err := it.Next(jetstream.NextContext(ctx))
		if errors.Is(err, jetstream.ErrNoHeartbeat) { // the leader is gone; the next call recovers
			continue
		}
		if err != nil {
			return fmt.Errorf("%w: shard %d: %w", ErrState, s.number, err)
		}
		meta, err := m.Metadata()
		if err != nil {
			return fmt.Errorf("%w: shard %d: %w", ErrState, s.number, err)
		}
		seq := meta.Sequence.Stream
		if seq >= s.own {
			return nil
		}
		if m.Headers().Get(kindHeader) != takeover {
			if err := do(seq, m.Data()); err != nil {
				return fmt.Errorf("shard %d, record %d: %w", s.number, seq, err)
			}
		}
	}
}
