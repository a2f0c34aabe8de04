package engine

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Impatient has a live node of the same name waited for for no longer than a time.
func Impatient(cfg Config, most time.Duration) Config {
	cfg.namesake = most
	return cfg
}

// Silence makes a node say nothing any more, as one that is stopped; Speak wakes it up.
func (e *Engine) Silence() {
	e.session.stop()
	e.session.done.Wait()
}

// Speak is explained at Silence.
func (e *Engine) Speak() {
	ctx, stop := context.WithCancel(context.Background())
	e.session.stop = stop
	e.session.done.Go(func() { e.session.renew(ctx) })
}

// Take is the first half of Own, and then the second: a node may be stopped in between.
func (e *Engine) Take(ctx context.Context, shard int) (then func() (*Shard, error), err error) {
	owner, err := e.take(ctx, shard)
	s := &Shard{e: e, number: shard, owner: owner}
	return func() (*Shard, error) { return s, s.takeOver(ctx) }, err
}

// Settle sets the time after which what was written is synced.
func (e *Engine) Settle(after time.Duration) { e.settled = after }

// Judge has a node declare another one dead, if it is silent, by its view of the board but with a revision that
// is off.
func (e *Engine) Judge(ctx context.Context, name string, off uint64) {
	nodes, _ := e.board.View(nodeKey)
	n := nodes[name]
	n.Revision += off
	e.session.judge(ctx, name, n)
}

// Machine is what tells the clock of this machine from others.
var Machine = machine()

// Forgets reports whether what is said of a node is deleted after a while.
func (e *Engine) Forgets(ctx context.Context, name string) (bool, error) {
	last, err := e.last(ctx, e.board.stream, boardSubject+nodeKey+name)
	if err != nil || last == nil {
		return false, errors.Join(err, errors.New("nothing is"))
	}
	return last.Header.Get(jetstream.MsgTTLHeader) != "", nil
}

// Forget loses the pointer of a shard.
func (e *Engine) Forget(ctx context.Context, shard int) error {
	s := &Shard{number: shard}
	return e.stream.Purge(ctx, jetstream.WithPurgeSubject(s.subject("snap")))
}

// Downgrade writes the pointer of a shard as versions did that kept two snapshots.
func (e *Engine) Downgrade(ctx context.Context, shard int) error {
	subject := (&Shard{number: shard}).subject("snap")
	last, err := e.last(ctx, e.stream, subject)
	if err != nil {
		return err
	}
	var p pointer
	if err := json.Unmarshal(last.Data, &p); err != nil {
		return err
	}
	m := nats.NewMsg(subject)
	m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	if m.Data, err = json.Marshal(pointer{Newest: p.Newest, Before: p.Before}); err != nil {
		return err
	}
	_, err = e.js.PublishMsg(ctx, m)
	return err
}

// Blobs returns how many snapshots are stored, of all shards.
func (e *Engine) Blobs(ctx context.Context) (int, error) {
	all, err := e.blobs.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		err = nil
	}
	return len(all), err
}

// Objects returns how many messages the snapshots are stored in.
func (e *Engine) Objects(ctx context.Context) (int, error) {
	info, err := e.objects.Info(ctx)
	if err != nil {
		return 0, err
	}
	return int(info.State.Msgs), nil
}

// Litter leaves a part of a snapshot, as a process does that is killed, and what the client does of one that is
// deleted.
func (e *Engine) Litter(ctx context.Context) error {
	_, err := e.js.Publish(ctx, partsOfBlob+"killed", []byte("part"))
	_, failed := e.blobs.PutBytes(ctx, "0-1-deleted", []byte("blob"))
	return errors.Join(err, failed, e.blobs.Delete(ctx, "0-1-deleted"))
}

// Tidy deletes what is left of snapshots, of parts those that are as old as a time.
func (e *Engine) Tidy(ctx context.Context, old time.Duration) error { return e.tidy(ctx, old) }

// TellLoss says again what a server lost, if no more records than most are deleted.
func (e *Engine) TellLoss(ctx context.Context, most int) error { return e.tellLoss(ctx, most) }
