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

// A pointer names the snapshots of a shard that are kept. A loss of power takes what the server wrote since it
// last synced, so one that is older than that is among them, and the log since.
type pointer struct {
	Newest blob `json:"newest"`
	Before blob `json:"before"`
	// Aging becomes Synced when it is old enough; the log is purged up to Synced.
	Aging  blob      `json:"aging,omitzero"`
	Synced blob      `json:"synced,omitzero"`
	Since  time.Time `json:"since,omitzero"` // when Aging was written: it ages while no node has the shard, too
	// Over names snapshots of records that the log lost, as far as they were looked at: what was
	// restored then and appended since is newer, whatever their sequences.
	Over []string `json:"over,omitempty"`
}

// all returns the snapshots that are kept, from the newest on, each once.
func (p pointer) all() (all []blob) {
	for _, b := range []blob{p.Newest, p.Before, p.Aging, p.Synced} {
		same := func(other blob) bool { return other.Name == b.Name }
		if b.Name != "" && b.Name != lostName && !slices.ContainsFunc(all, same) {
			all = append(all, b)
		}
	}
	return all
}

func (p pointer) names(b blob) bool {
	return slices.ContainsFunc(p.all(), func(kept blob) bool { return kept.Name == b.Name })
}

// next returns the pointer with a newer snapshot. Aged is whether that which ages is old enough.
func (p pointer) next(b blob, aged bool) pointer {
	n := pointer{Newest: b, Before: p.Newest, Aging: p.Aging, Synced: p.Synced, Since: p.Since, Over: p.Over}
	if aged && p.Aging.Name != "" {
		n.Synced, n.Aging = p.Aging, blob{}
	}
	if n.Aging.Name == "" {
		n.Aging, n.Since = b, time.Now()
	}
	return n
}

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
	// settled is the time after which what was written is synced: by default a server does that every two
	// minutes, and what servers elsewhere are told is not known.
	settled = 3 * time.Minute
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
// to the newest snapshot that is surely synced is purged, and two to four snapshots are kept.
func (s *Shard) Snapshot(ctx context.Context, at Mark, state []byte) error {
	if err := s.e.spaceFor(len(state)); err != nil {
		return err
	}
	b := s.name(at, state)
	if err := s.put(ctx, b.Name, state); err != nil {
		if full := s.e.full(err); full != nil {
			return full
		}
		return fmt.Errorf("engine: shard %d: snapshot: %w", s.number, err)
	}
	before := s.snapshot
	next := before.next(b, time.Since(s.aging) >= s.e.settled)
	if err := s.point(ctx, next); err != nil {
		return err // the answer may be what was lost, so that the blob is for the next owner to keep or to sweep
	}
	var err error
	for _, old := range before.all() {
		if !next.names(old) {
			err = errors.Join(err, s.e.drop(ctx, old.Name))
		}
	}
	// The last record stays: an empty log would have sequence 0.
	if synced := next.Synced.Seq; synced > 0 && !s.e.cfg.KeepLog {
		err = errors.Join(err, s.e.stream.Purge(ctx, jetstream.WithPurgeSubject(s.subject("log")), jetstream.WithPurgeSequence(synced)))
	}
	return err
}

// point writes the pointer, if the chain of the log is still this owner's.
func (s *Shard) point(ctx context.Context, next pointer) (err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := nats.NewMsg(s.subject("snap"))
	if m.Data, err = json.Marshal(next); err != nil {
		return err
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
		return err
	}
	if next.Aging.Name != s.snapshot.Aging.Name {
		s.aging = time.Now()
	}
	s.snapshot = next
	return nil
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
	if s.snapshot.Aging.Name == "" { // it is of a version that purged up to the snapshot before
		s.snapshot.Aging, s.snapshot.Synced = s.snapshot.Newest, s.snapshot.Before
	}
	s.aging = time.Now() // at the latest, as an earlier version did not say
	if since := s.snapshot.Since; !since.IsZero() && since.Before(s.aging) {
		s.aging = since
	}
	read := s.snapshot
	from, rescued, err := s.rescue(ctx, load)
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
	for _, b := range s.snapshot.all() {
		state, failed := s.fetch(ctx, b)
		if failed == nil {
			failed = load(state)
		}
		if failed == nil {
			if b != s.snapshot.Newest { // a damaged one is not to be the one before the next
				s.snapshot = pointer{Newest: b, Aging: b, Synced: s.snapshot.Synced, Over: s.snapshot.Over}
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
	if s.snapshot.Synced.Name != "" { // so the log was purged
		return 0, fmt.Errorf("%w: shard %d: no snapshot can be read: %w", ErrState, s.number, err)
	}
	s.snapshot = pointer{Over: s.snapshot.Over}
	return 0, nil
}

// rescue loads the newest snapshot that can be read of those whose records the log lost, and writes the pointer
// to it: a loss of power took the end of the log, or it is damaged, and the snapshots are files of their own.
// It returns the last record that the snapshot holds, or stands for, as what is appended from here on counts. In
// a cluster a snapshot may be one of an owner that was fenced, so that the pointer says which counts, unless
// it is lost with records.
func (s *Shard) rescue(ctx context.Context, load func([]byte) error) (last uint64, rescued bool, err error) {
	if s.e.server == nil {
		if s.snapshot.Newest.Name != "" {
			return 0, false, nil
		}
		if complete, err := s.complete(ctx); err != nil || complete {
			return 0, false, err
		}
	}
	beyond, err := s.beyond(ctx)
	if err != nil || len(beyond) == 0 {
		return 0, false, err
	}
	over := slices.Clone(s.snapshot.Over)
	for _, b := range beyond {
		over = append(over, b.Name)
	}
	const lost = "records of the log are lost, as by a loss of power; "
	for _, b := range beyond {
		state, err := s.fetch(ctx, b)
		if err == nil {
			err = load(state)
		}
		if ctx.Err() != nil {
			return 0, false, fmt.Errorf("engine: shard %d: snapshot: %w", s.number, ctx.Err())
		}
		if err != nil {
			s.e.cfg.Log.Error(lost+"nor can a snapshot with them be read", "shard", s.number, "snapshot", b.Name, "error", err)
			continue
		}
		s.e.cfg.Log.Error(lost+"the newest snapshot that can be read is used", "shard", s.number, "snapshot", b.Name)
		b.Seq = min(b.Seq, s.own) // where sequences went back, those up to its own will be used again
		if !s.looks {
			err = s.point(ctx, pointer{Newest: b, Aging: b, Synced: blob{Name: lostName, Seq: b.Seq}, Over: over})
		}
		return b.Seq, err == nil, err
	}
	s.snapshot.Over = over
	if s.snapshot.Newest.Name == "" {
		complete, err := s.complete(ctx)
		if err == nil && !complete { // someone may still be able to read a snapshot, which is better than to begin anew
			err = fmt.Errorf("%w: shard %d: the log is lost, and no snapshot can be read", ErrState, s.number)
		}
		return 0, false, err
	}
	return 0, false, nil
}

// complete reports whether the log can do without a snapshot: it has a record that is no takeover, and begins
// with its first one.
func (s *Shard) complete(ctx context.Context) (bool, error) {
	if begins, err := s.begins(ctx); err != nil || !begins {
		return false, err
	}
	found := errors.New("there is a record")
	err := s.All(ctx, func([]byte) error { return found })
	if errors.Is(err, found) {
		return true, nil
	}
	return false, err
}

// begins reports whether the first record of the log names none before it, as records do.
func (s *Shard) begins(ctx context.Context) (bool, error) {
	first, err := s.message(ctx, 1, jetstream.WithGetMsgSubject(s.subject("log")))
	if err != nil || first == nil {
		return err == nil, err
	}
	before := first.Header.Get(jetstream.ExpectedLastSubjSeqHeader)
	return before == "0" || before == "", nil
}

// message returns a message of the stream, nil if it is not there.
func (s *Shard) message(ctx context.Context, seq uint64, options ...jetstream.GetMsgOpt) (m *jetstream.RawStreamMsg, err error) {
	err = s.e.patiently(ctx, func(ctx context.Context) error {
		m, err = s.e.stream.GetMsg(ctx, seq, options...)
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			m = nil
			return nil
		}
		return err
	})
	return m, err
}

// beyond returns the snapshots of the shard that the pointer and the log do not lead to, from the newest on: they
// are newer than the pointer, and the log does not have their last record. If it has, the owner before died
// between the snapshot and the pointer.
func (s *Shard) beyond(ctx context.Context) (found []blob, err error) {
	earlier, err := s.e.earlier(ctx, s.number)
	if err != nil {
		return nil, fmt.Errorf("engine: shard %d: snapshots: %w", s.number, err)
	}
	for _, b := range earlier {
		if s.snapshot.names(b) || slices.Contains(s.snapshot.Over, b.Name) {
			continue
		}
		lost := b.Seq >= s.own
		if !lost && s.snapshot.Newest.Name == "" {
			var begins bool
			begins, err = s.begins(ctx)
			lost = !begins
		}
		if !lost && err == nil && b.Seq > s.snapshot.Newest.Seq { // the server may know more sequences than it has records
			var m *jetstream.RawStreamMsg
			m, err = s.message(ctx, b.Seq)
			lost = m == nil || m.Subject != s.subject("log")
		}
		if err != nil {
			return nil, err
		}
		if lost {
			found = append(found, b)
		}
	}
	slices.SortFunc(found, func(a, b blob) int { return cmp.Compare(b.Seq, a.Seq) })
	return found, nil
}

// earlier returns the snapshots of a shard. Those of a server within the process are listed once for all
// shards: what this process adds has its pointer.
func (e *Engine) earlier(ctx context.Context, shard int) ([]blob, error) {
	e.listing.Lock()
	defer e.listing.Unlock()
	if e.listed != nil && e.server != nil {
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
// own behind it, and they need no older ones than those that the pointer named when it was read. Where there is
// no pointer they may be all there is. Those that were found to be over just now stay until the next owner.
func (s *Shard) sweep(ctx context.Context, read pointer) {
	if read.Newest.Name == "" {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, least)
	defer cancel()
	all, err := s.e.blobs.List(ctx)
	if err != nil {
		return // there are none, or the next owner does it
	}
	for _, o := range all {
		b, of, ok := parse(o)
		if !ok || of != s.number || read.names(b) || s.snapshot.names(b) {
			continue
		}
		switch over := slices.Contains(s.snapshot.Over, b.Name); {
		case slices.Contains(read.Over, b.Name), b.Seq < s.own && !over:
			_ = s.e.drop(ctx, b.Name)
		case !over && s.Sure(): // so it is no later owner's
			s.e.cfg.Log.Warn("records of the log are lost, as by a loss of power; an older state is used than was there",
				"shard", s.number, "snapshot", b.Name)
		}
	}
}

// All hands over all records of the log that are still there, without a snapshot.
func (s *Shard) All(ctx context.Context, do func(record []byte) error) error {
	return s.records(ctx, 1, func(_ uint64, record []byte) error { return do(record) })
}
