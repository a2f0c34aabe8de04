package engine

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// A lease says who may own a shard. It fences nothing by itself: that is what the chain of the log
// is for.
type lease struct {
	e        *Engine
	key      string
	revision uint64
	lost     chan struct{} // closed when it is no longer sure
	stop     context.CancelFunc
	stopped  chan struct{}
}

// take takes the lease of a shard. In a folder that is locked the owner before is dead, whatever is
// left of its lease.
func (e *Engine) take(ctx context.Context, shard int) (*lease, error) {
	l := &lease{e: e, key: strconv.Itoa(shard), lost: make(chan struct{}), stopped: make(chan struct{})}
	busy := false
	err := e.patiently(ctx, func(ctx context.Context) (err error) {
		if e.lock != nil {
			l.revision, err = e.leases.Put(ctx, l.key, []byte(e.cfg.Name))
			return err
		}
		l.revision, err = e.leases.Create(ctx, l.key, []byte(e.cfg.Name))
		if busy = errors.Is(err, jetstream.ErrKeyExists); busy {
			return nil
		}
		return err
	})
	if busy {
		return nil, fmt.Errorf("%w: shard %d", ErrBusy, shard)
	}
	if err != nil {
		return nil, err
	}
	renewing, stop := context.WithCancel(context.Background())
	l.stop = stop
	go l.renew(renewing)
	return l, nil
}

// renew keeps the lease until it is stopped or lost: a quarter of its time before it ends nobody
// may rely on it. In a folder that is locked it is never lost, however slow the machine.
func (l *lease) renew(ctx context.Context) {
	defer close(l.stopped)
	ttl := l.e.cfg.Lease
	sure := time.Now().Add(ttl * 3 / 4)
	tick := time.NewTicker(ttl / 4)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		began := time.Now()
		short, cancel := context.WithTimeout(ctx, ttl/4)
		revision, err := l.e.leases.Update(short, l.key, []byte(l.e.cfg.Name), l.revision)
		if err != nil { // its acknowledgement may have been lost
			if now, got := l.e.leases.Get(short, l.key); got == nil && string(now.Value()) == l.e.cfg.Name {
				revision, err = now.Revision(), nil
			}
		}
		if err != nil && l.e.lock != nil { // it ran out: nobody else can have it
			revision, err = l.e.leases.Put(short, l.key, []byte(l.e.cfg.Name))
		}
		cancel()
		if err == nil {
			l.revision, sure = revision, began.Add(ttl*3/4)
		} else if l.e.lock == nil && time.Now().After(sure) {
			close(l.lost)
			return
		}
	}
}

// release gives the lease up, so that another node need not wait for its end.
func (l *lease) release(ctx context.Context) {
	l.stop()
	<-l.stopped
	short, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	_ = l.e.leases.Delete(short, l.key, jetstream.LastRevision(l.revision)) // or it ends by itself
}
