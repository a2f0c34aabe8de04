package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A pointer names the newest snapshot of a shard and the one before it.
type pointer struct {
	Newest blob `json:"newest"`
	Before blob `json:"before"`
}

func (p pointer) names(b blob) bool { return b.Name == p.Newest.Name || b.Name == p.Before.Name }

// A blob is a snapshot: its name in the object store, empty for none, and the sequence of the last
// record that it holds.
type blob struct {
	Name string `json:"name,omitempty"`
	Seq  uint64 `json:"seq,omitempty"`
	Size int    `json:"size,omitempty"`
}

const (
	// least is the time for a snapshot that is small, and perMiB what is added for a large one,
	// where 12 to 70 ms were measured; longest is that with a server within the process.
	least   = 3 * time.Second
	perMiB  = time.Second
	longest = 5 * time.Minute
	// quiet is the time after which a server within the process that sends nothing of a snapshot will
	// send no more: it skips what is damaged, and the client waits for it.
	quiet = 10 * time.Second
	// worthTelling is the time after which the log says that a snapshot is being read.
	worthTelling = 5 * time.Second
	// attempts at a transfer: an election of the engine takes up to 9 s.
	attempts = 5
)

// A Mark is a place in the log, between two records.
type Mark uint64

// Mark returns the place after the last record appended.
func (s *Shard) Mark() Mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Mark(s.chain)
}

// Snapshot stores the state as it was at a mark. Records may be appended while it does. The log up
// to the snapshot before is purged.
func (s *Shard) Snapshot(ctx context.Context, at Mark, state []byte) error {
	if err := s.e.space(); err != nil {
		return err
	}
	b := s.name(at, state)
	if err := s.put(ctx, b.Name, state); err != nil {
		if full := s.e.full(err); full != nil {
			return full
		}
		return fmt.Errorf("engine: shard %d: snapshot: %w", s.number, err)
	}
	old, err := s.point(ctx, b)
	if err != nil {
		return err // the answer may be what was lost, so that the blob is for the next owner to keep or to sweep
	}
	if old.Name != "" && old.Name != lostName {
		err = s.e.blobs.Delete(ctx, old.Name)
	}
	// The last record stays: an empty log would have sequence 0.
	if before := s.snapshot.Before.Seq; before > 0 && !s.e.cfg.KeepLog {
		err = errors.Join(err, s.e.stream.Purge(ctx, jetstream.WithPurgeSubject(s.subject("log")), jetstream.WithPurgeSequence(before)))
	}
	return err
}

// point writes the pointer, if the chain of the log is still this owner's, and returns the blob
// that nobody needs then.
func (s *Shard) point(ctx context.Context, b blob) (old blob, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := pointer{Newest: b, Before: s.snapshot.Newest}
	m := nats.NewMsg(s.subject("snap"))
	if m.Data, err = json.Marshal(next); err != nil {
		return old, err
	}
	m.Header.Set(jetstream.MsgRollup, jetstream.MsgRollupSubject)
	fenced := false
	err = s.e.patiently(ctx, func(ctx context.Context) error {
		_, err := s.e.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequenceForSubject(s.chain, s.subject("log")))
		var api *jetstream.APIError
		if errors.As(err, &api) && api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence {
			last, failed := s.e.last(ctx, s.e.stream, s.subject("log"))
			fenced = failed == nil && (last == nil || last.Sequence != s.chain)
		}
		if fenced {
			return nil
		}
		return err
	})
	if fenced {
		err = fmt.Errorf("%w: shard %d", ErrFenced, s.number)
	}
	if err != nil {
		return old, err
	}
	old, s.snapshot = s.snapshot.Before, next
	return old, nil
}

// Restore hands over what is known of the shard: the newest snapshot that can be read, if there is
// one, and all records after it. Load must change nothing if it returns an error; then the snapshot
// before is tried.
func (s *Shard) Restore(ctx context.Context, load func(state []byte) error, apply func(record []byte) error) error {
	err := s.e.patiently(ctx, func(ctx context.Context) error {
		m, err := s.e.stream.GetLastMsgForSubject(ctx, s.subject("snap"))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		return json.Unmarshal(m.Data, &s.snapshot)
	})
	if err != nil {
		return fmt.Errorf("%w: shard %d: %w", ErrState, s.number, err)
	}
	from, read := s.own, s.snapshot
	rescued, err := s.rescue(ctx, load)
	if err == nil && !rescued {
		from, err = s.load(ctx, load)
	}
	if err != nil {
		return err
	}
	if !s.looks && s.Sure() {
		s.sweep(ctx, read)
	}
	return s.records(ctx, from+1, func(_ uint64, record []byte) error { return apply(record) })
}

// Replay hands over what the state was at a mark: the newest snapshot that can be read, and the
// records from there to the mark. It is Restore for the owner, who may go on appending.
func (s *Shard) Replay(ctx context.Context, at Mark, load func(state []byte) error, apply func(record []byte) error) error {
	s.mu.Lock()
	past := &Shard{e: s.e, number: s.number, looks: true, own: uint64(at) + 1, snapshot: s.snapshot}
	s.mu.Unlock()
	from, err := past.load(ctx, load)
	if err != nil {
		return err
	}
	return past.records(ctx, from+1, func(_ uint64, record []byte) error { return apply(record) })
}

// load loads the newest snapshot that can be read, and returns its last record; 0 if there is none
// and the log is whole.
func (s *Shard) load(ctx context.Context, load func([]byte) error) (last uint64, err error) {
	for _, b := range []blob{s.snapshot.Newest, s.snapshot.Before} {
		if b.Name == "" {
			break
		}
		state, failed := s.fetch(ctx, b)
		if failed == nil {
			failed = load(state)
		}
		if failed == nil {
			if b != s.snapshot.Newest { // a damaged one is not to be the one before the next
				s.snapshot = pointer{Newest: b}
			}
			return b.Seq, nil
		}
		if ctx.Err() != nil {
			return 0, fmt.Errorf("engine: shard %d: snapshot: %w", s.number, ctx.Err())
		}
		s.e.cfg.Log.Error("a snapshot cannot be read; what came before it is used, and the log since",
			"shard", s.number, "snapshot", b.Name, "error", failed)
		err = errors.Join(err, failed)
	}
	if s.snapshot.Before.Name != "" { // so the log was purged
		return 0, fmt.Errorf("%w: shard %d: no snapshot can be read: %w", ErrState, s.number, err)
	}
	s.snapshot = pointer{}
	return 0, nil
}

// rescue loads the newest snapshot where the log ends before it, and with it the pointer: a loss of
// power took the end of the log, or it is damaged, and the snapshots are files of their own. From here
// on the log counts from the takeover. In a cluster a snapshot may be one of an owner that was fenced,
// so that the pointer alone says which counts.
func (s *Shard) rescue(ctx context.Context, load func([]byte) error) (rescued bool, err error) {
	if s.e.server == nil {
		return false, nil
	}
	beyond, err := s.beyond(ctx)
	if err != nil || len(beyond) == 0 {
		return false, err
	}
	newest := slices.MaxFunc(beyond, func(a, b blob) int { return cmp.Compare(a.Seq, b.Seq) })
	state, err := s.fetch(ctx, newest)
	if err == nil {
		err = load(state)
	}
	const lost = "the end of the log is lost, as by a loss of power; "
	if err != nil {
		s.e.cfg.Log.Error(lost+"nor can the newest snapshot be read", "shard", s.number, "snapshot", newest.Name, "error", err)
		return false, ctx.Err()
	}
	s.e.cfg.Log.Error(lost+"the newest snapshot is used", "shard", s.number, "snapshot", newest.Name)
	if s.looks {
		return true, nil
	}
	b := s.name(Mark(s.own), state)
	if err := s.put(ctx, b.Name, state); err != nil {
		return false, fmt.Errorf("engine: shard %d: snapshot: %w", s.number, err)
	}
	s.snapshot = pointer{Newest: blob{Name: lostName, Seq: s.own}} // so the log is not whole
	if _, err := s.point(ctx, b); err != nil {
		return false, err
	}
	for _, b := range beyond { // or the next start would take them for newer
		if err := s.e.blobs.Delete(ctx, b.Name); err != nil {
			return false, fmt.Errorf("engine: shard %d: snapshot: %w", s.number, err)
		}
	}
	s.e.listing.Lock()
	defer s.e.listing.Unlock()
	delete(s.e.listed, s.number)
	return true, nil
}

// beyond returns the snapshots of the shard that have records behind the end of the log: this owner has made
// none yet.
func (s *Shard) beyond(ctx context.Context) (found []blob, err error) {
	earlier, err := s.e.earlier(ctx, s.number)
	if err != nil {
		return nil, fmt.Errorf("engine: shard %d: snapshots: %w", s.number, err)
	}
	for _, b := range earlier {
		if b.Seq >= s.own {
			found = append(found, b)
		}
	}
	return found, nil
}

// earlier returns the snapshots of a shard that there were when it was asked for those of any for the first
// time: all are listed at once.
func (e *Engine) earlier(ctx context.Context, shard int) ([]blob, error) {
	e.listing.Lock()
	defer e.listing.Unlock()
	if e.listed != nil {
		return e.listed[shard], nil
	}
	ctx, cancel := context.WithTimeout(ctx, chunk)
	defer cancel()
	all, err := e.blobs.List(ctx)
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil, err
	}
	e.listed = map[int][]blob{}
	for _, o := range all {
		if b, of, ok := parse(o); ok {
			e.listed[of] = append(e.listed[of], b)
		}
	}
	return e.listed[shard], nil
}

// name returns a snapshot of a state at a mark, under a name that there was not.
func (s *Shard) name(at Mark, state []byte) blob {
	return blob{fmt.Sprintf("%d-%d-%s", s.number, at, rand.Text()), uint64(at), len(state)}
}

// parse returns the blob that name gave an object its name for, and its shard.
func parse(o *jetstream.ObjectInfo) (b blob, shard int, ok bool) {
	b = blob{Name: o.Name, Size: int(o.Size)}
	n, _ := fmt.Sscanf(o.Name, "%d-%d-", &shard, &b.Seq)
	return b, shard, n == 2
}

// lostName is the name of a snapshot that there is not.
const lostName = "lost"

// put stores a blob.
func (s *Shard) put(ctx context.Context, name string, state []byte) error {
	return s.transfer(ctx, len(state), func(ctx context.Context) error {
		_, err := s.e.blobs.PutBytes(ctx, name, state)
		return err
	})
}

// fetch gets a blob.
func (s *Shard) fetch(ctx context.Context, b blob) (state []byte, err error) {
	defer time.AfterFunc(worthTelling, func() {
		s.e.cfg.Log.Info("reading a snapshot", "shard", s.number, "MiB", b.Size>>20)
	}).Stop()
	err = s.transfer(ctx, b.Size, func(ctx context.Context) (err error) {
		state, err = s.read(ctx, b.Name)
		return err
	})
	return state, err
}

// read gets a blob, and returns when the context ends: a read of the client looks at that before it
// waits, and not while it does.
func (s *Shard) read(ctx context.Context, name string) ([]byte, error) {
	type result struct {
		state []byte
		err   error
	}
	reading, cancel := context.WithCancel(ctx)
	defer cancel()
	if s.e.server != nil {
		reading = impatient{reading}
	}
	done := make(chan result, 1)
	go func() {
		state, err := s.e.blobs.GetBytes(reading, name)
		done <- result{state, err}
	}()
	select {
	case r := <-done:
		return r.state, r.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// An impatient context has a deadline that each read of the client puts off: by it the client knows how
// long to wait for the next bytes.
type impatient struct{ context.Context }

func (c impatient) Deadline() (time.Time, bool) { return time.Now().Add(quiet), true }

// transfer makes some attempts at moving a blob: where the server that leads is gone nothing comes
// back, and one that is busy may turn it away. A server within the process has all the time, as
// nobody else can do better.
func (s *Shard) transfer(ctx context.Context, size int, do func(context.Context) error) (err error) {
	each := least + perMiB*time.Duration(size>>20)
	if s.e.server != nil {
		each = longest
	}
	for range attempts {
		short, cancel := context.WithTimeout(ctx, each)
		err = do(short)
		stuck := s.e.server != nil && (short.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded))
		cancel()
		if err == nil || errors.Is(err, jetstream.ErrObjectNotFound) || ctx.Err() != nil || stuck {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}

// sweep deletes blobs of owners before that no pointer names: they died before they wrote it. The shard may
// be another's by now. Blobs of later owners are newer than the record of takeover, as each has one of its
// own behind it, and they need no older ones than those that the pointer named when it was read.
func (s *Shard) sweep(ctx context.Context, read pointer) {
	ctx, cancel := context.WithTimeout(ctx, least)
	defer cancel()
	all, err := s.e.blobs.List(ctx)
	if err != nil {
		return // there are none, or the next owner does it
	}
	for _, o := range all {
		b, of, ok := parse(o)
		if ok && of == s.number && b.Seq < s.own && !read.names(b) && !s.snapshot.names(b) {
			_ = s.e.blobs.Delete(ctx, b.Name)
		}
	}
}

// All hands over all records of the log that are still there, without a snapshot.
func (s *Shard) All(ctx context.Context, do func(record []byte) error) error {
	return s.records(ctx, 1, func(_ uint64, record []byte) error { return do(record) })
}
