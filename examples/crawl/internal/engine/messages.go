package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// heartbeat is how often a consumer says that it is there; if two are missing it is lost. That of
	// a server within the process is only busy.
	heartbeat, heartbeatWithin = time.Second, 30 * time.Second
	// inactive is the time after which a server forgets a consumer that nobody asks.
	inactive = 2 * time.Minute
	// ahead and aheadBytes are how much a server may send before it is asked again. A server cuts the
	// connection of a client for which 64 MiB wait to be written, and all shards share one, of which 16 may
	// be asked for twice as many bytes at a time. A record that is larger than aheadBytes would never come.
	ahead, aheadBytes = 500, 4 * MaxRecord
)

// errLost reports that messages cannot be had from a consumer any more.
var errLost = fmt.Errorf("%w: the consumer is lost", ErrState)

// messages hands over the messages of a stream, in order and each once, until do says that it has
// enough or fails. It ends with errLost when a message may be missing, or none comes for so long
// although there may be one: the consumer, or the server that leads it, is gone. Then a new consumer
// is to go on, from where the caller got to. It is always a new one: a name that was given to a
// server that is gone stays with that server.
func (e *Engine) messages(ctx context.Context, stream jetstream.Stream, cfg jetstream.ConsumerConfig, patience time.Duration, do func(jetstream.Msg, *jetstream.MsgMetadata) (enough bool, err error)) error {
	cfg.AckPolicy, cfg.InactiveThreshold = jetstream.AckNonePolicy, inactive
	cfg.Replicas, cfg.MemoryStorage = 1, true
	var consumer jetstream.Consumer
	err := e.patiently(ctx, func(ctx context.Context) (err error) {
		consumer, err = stream.CreateConsumer(ctx, cfg)
		return err
	})
	if err != nil {
		return err
	}
	beat := heartbeat
	if e.server != nil {
		beat = heartbeatWithin
	}
	// Not consumer.Messages: its buffer has room for what is asked for, but not for what the server says of each
	// request beside that, and what does not fit is dropped. If that is the last message nobody notices.
	r := &reader{found: make(chan jetstream.Msg), silent: make(chan struct{}, 1), done: make(chan struct{})}
	consuming, err := consumer.Consume(r.take, jetstream.PullMaxMessagesWithBytesLimit(ahead, aheadBytes),
		jetstream.PullExpiry(2*beat), jetstream.PullHeartbeat(beat), jetstream.ConsumeErrHandler(r.heard))
	if err != nil {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	r.ended = consuming.Closed()
	defer consuming.Stop()
	defer close(r.done)
	for got := uint64(0); ; got++ {
		m, err := r.next(ctx, patience, e.server == nil)
		if err != nil {
			return err
		}
		about, err := m.Metadata()
		if err != nil {
			return fmt.Errorf("%w: %w", errLost, err)
		}
		if about.Sequence.Consumer != got+1 {
			return fmt.Errorf("%w: message %d comes after message %d", errLost, about.Sequence.Consumer, got)
		}
		if enough, err := do(m, about); enough || err != nil {
			return err
		}
	}
}

// A reader hands over the messages of a consumer one by one.
type reader struct {
	found  chan jetstream.Msg
	silent chan struct{} // heartbeats are missing
	ended  <-chan struct{}
	done   chan struct{} // nobody wants any more
}

func (r *reader) take(m jetstream.Msg) {
	select {
	case r.found <- m:
	case <-r.done:
	}
}

func (r *reader) heard(_ jetstream.ConsumeContext, err error) {
	if errors.Is(err, jetstream.ErrNoHeartbeat) {
		select {
		case r.silent <- struct{}{}:
		default:
		}
	}
}

// next waits for a message. A server within the process may be busy for as long as patience allows, and
// send no heartbeats then.
func (r *reader) next(ctx context.Context, patience time.Duration, beats bool) (jetstream.Msg, error) {
	silent := r.silent
	if !beats {
		silent = nil
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case m := <-r.found:
		return m, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-silent:
		return nil, fmt.Errorf("%w: %w", errLost, jetstream.ErrNoHeartbeat)
	case <-r.ended:
		return nil, fmt.Errorf("%w: it has ended", errLost)
	case <-timer.C:
		return nil, fmt.Errorf("%w: no message comes", errLost)
	}
}
