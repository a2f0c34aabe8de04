package engine

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A Session is the presence of a node in a cluster. What says so on the board is renewed every
// quarter of a lease. A node that fell silent for a whole lease is declared dead by another one,
// which deletes its session: then, and not before, the shards that it owned are free.
//
// A session is sure for three quarters of a lease after the latest renewal. A node whose session is
// not sure must not poll, and writes nothing that counts. It may become sure again, as after an
// election of the engine; a node that was declared dead is lost.
//
// The clocks of servers are not compared, nor those of different machines: a node is silent for as long as
// an observer has seen no new entry of it, by the observer's monotonic clock. The entry that it is
// judged by may be old where what arrives of the board is late. So it is declared dead on the condition
// that this entry is still the latest one.
type Session struct {
	e    *Engine
	id   string
	lost chan struct{}
	said chan struct{} // there is something new to say
	stop context.CancelFunc
	done sync.WaitGroup

	mu        sync.Mutex
	about     json.RawMessage
	revision  uint64
	unbroken  time.Time // it has been sure since
	sureUntil time.Time
	held      context.Context // ends when it is not sure
	release   context.CancelFunc
	unsure    *time.Timer
}

// A presence is what a node says of itself on the board.
type presence struct {
	ID    string          `json:"id"`
	Lease time.Duration   `json:"lease"`
	About json.RawMessage `json:"about,omitempty"`
	// When it was said, by the clock of which machine.
	Said    time.Time `json:"said,omitzero"`
	Machine string    `json:"machine,omitempty"`
}

const nodeKey = "node."

// machine returns what tells the clock of this machine from others, and from itself before it was started
// anew; empty if that is not known.
var machine = sync.OnceValue(func() string {
	id, _ := os.ReadFile("/proc/sys/kernel/random/boot_id") // Linux has it
	return strings.TrimSpace(string(id))
})

// patient is for how long a node waits for one of its name that is alive: what is told to stop takes up to a minute.
const patient = 90 * time.Second

// A namesake is what a node that joins has seen of the one that has its name.
type namesake struct{ revision uint64 }

// speaks reports whether the other one has said something since it was last looked at: so it is alive.
func (s *namesake) speaks(n Note) bool {
	before := s.revision
	s.revision = n.Revision
	return before != 0 && before != n.Revision
}

// join makes this process a node of the cluster. One of the same name that is still there, or died
// lately, must fall silent first. If it does not in time it is another one, and this one is refused.
func (e *Engine) join(ctx context.Context) error {
	s := &Session{e: e, id: rand.Text()[:8], lost: make(chan struct{}), said: make(chan struct{}, 1)}
	s.held, s.release = context.WithCancel(context.Background())
	s.release()
	watching, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.done.Go(func() { e.board.watch(watching) })
	var name namesake
	for told, came := false, time.Now(); ; {
		begun := time.Now()
		before, err := e.board.Read(ctx, nodeKey+e.cfg.Name)
		if err == nil {
			var wait time.Duration
			if wait, err = wanting(before, machine()); err == nil && wait > 0 {
				if !told {
					told = true
					e.cfg.Log.Info("a node of this name was there; waiting until it is gone for sure", "node", e.cfg.Name)
				}
				if name.speaks(before) && begun.Sub(came) > e.cfg.namesake {
					stop()
					s.done.Wait()
					return fmt.Errorf("%w: a node named %s is at work, and two cannot have one name: give another -node", ErrBusy, e.cfg.Name)
				}
				select {
				case <-ctx.Done():
				case <-time.After(min(wait, e.cfg.Lease/8)): // another node may declare it dead before
				}
				continue
			}
		}
		if err == nil {
			s.revision, err = e.board.say(ctx, nodeKey+e.cfg.Name, s.presence(), before.Revision)
		}
		switch {
		case err == nil:
			s.renewed(begun)
			e.session = s
			s.done.Go(func() { s.renew(watching) })
			return nil
		case errors.Is(err, ErrFenced) && ctx.Err() == nil: // it is there
		default:
			stop()
			s.done.Wait()
			return err
		}
	}
}

// wanting returns for how long a node must still be silent until it is gone for sure. On its own machine the time
// of day may tell that it is: a session is not sure either when its time is over by that clock.
func wanting(n Note, machine string) (time.Duration, error) {
	if len(n.Value) == 0 {
		return 0, nil
	}
	var p presence
	if err := json.Unmarshal(n.Value, &p); err != nil {
		return 0, fmt.Errorf("%w: %w", ErrState, err)
	}
	silent := time.Since(n.seen)
	if machine != "" && p.Machine == machine {
		silent = max(silent, time.Since(p.Said))
	}
	return p.Lease - silent, nil
}

func (s *Session) presence() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, _ := json.Marshal(presence{s.id, s.e.cfg.Lease, s.about, time.Now(), machine()}) // cannot fail
	return value
}

// Say tells the others something more of this node.
func (s *Session) Say(about any) {
	value, _ := json.Marshal(about) // of the caller's own type
	s.mu.Lock()
	s.about = value
	s.mu.Unlock()
	select {
	case s.said <- struct{}{}:
	default:
	}
}

// Lost is closed when the node was declared dead.
func (s *Session) Lost() <-chan struct{} { return s.lost }

// Sure reports whether no other node can have declared this one dead.
func (s *Session) Sure() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sure()
}

// Settled reports whether the node has been sure for a quarter of a lease: what others asked of it
// while it was stopped is no longer wanted by then, and they have said so.
func (s *Session) Settled() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sure() && time.Since(s.unbroken) >= s.e.cfg.Lease/4
}

// sure goes by both clocks of the machine: one stands still while the machine sleeps, and the other
// may be set.
func (s *Session) sure() bool {
	now := time.Now()
	return now.Before(s.sureUntil) && now.Round(0).Before(s.sureUntil.Round(0))
}

// Held returns a context that ends when the session is not sure any more.
func (s *Session) Held() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held
}

// renewed takes note of a renewal that began at a time.
func (s *Session) renewed(begun time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.sure() {
		s.unbroken = begun
	}
	s.sureUntil = begun.Add(s.e.cfg.Lease * 3 / 4)
	left := time.Until(s.sureUntil)
	if s.unsure != nil {
		s.unsure.Stop()
	}
	if s.held.Err() != nil {
		s.held, s.release = context.WithCancel(context.Background())
	}
	s.unsure = time.AfterFunc(left, s.release)
}

// renew keeps the session until it is left or lost, and declares others dead.
func (s *Session) renew(ctx context.Context) {
	tick := time.NewTicker(s.e.cfg.Lease / 4)
	defer tick.Stop()
	for well := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.said:
		}
		begun := time.Now()
		short, cancel := context.WithTimeout(ctx, s.e.cfg.Lease/2)
		revision, err := s.e.board.say(short, nodeKey+s.e.cfg.Name, s.presence(), s.revision)
		if errors.Is(err, ErrFenced) {
			revision, err = s.again(short)
		}
		cancel()
		switch {
		case err == nil:
			s.mu.Lock()
			s.revision = revision
			s.mu.Unlock()
			s.renewed(begun)
			s.bury(ctx)
			well = time.Now()
		case errors.Is(err, ErrFenced):
			s.e.cfg.Log.Warn("this node was silent for too long, and declared dead by another one", "node", s.e.cfg.Name)
			s.mu.Lock()
			s.sureUntil = time.Time{}
			s.release()
			s.mu.Unlock()
			close(s.lost)
			return
		case ctx.Err() == nil: // until the node is sure again it asks for nothing else that would tell
			well = s.e.complain(well, err)
		}
	}
}

// again renews the session where the board has another entry than the latest renewal left, as far as
// this node knows. It may be this node's own: the answer to a renewal may be lost, as when the engine
// elects.
func (s *Session) again(ctx context.Context) (revision uint64, err error) {
	now, err := s.latest(ctx)
	if err != nil {
		return 0, err // which the next attempt will know
	}
	return s.e.board.say(ctx, nodeKey+s.e.cfg.Name, s.presence(), now.Revision)
}

// latest returns the entry that the board has of the session; [ErrFenced] if it has none.
func (s *Session) latest(ctx context.Context) (Note, error) {
	now, err := s.e.board.Read(ctx, nodeKey+s.e.cfg.Name)
	if err != nil {
		return now, err
	}
	var p presence
	if json.Unmarshal(now.Value, &p) != nil || p.ID != s.id {
		return now, ErrFenced
	}
	return now, nil
}

// bury declares nodes dead. After a break of one's own it waits for the others to be heard again.
func (s *Session) bury(ctx context.Context) {
	s.mu.Lock()
	early := time.Since(s.unbroken) < s.e.cfg.Lease/2
	s.mu.Unlock()
	nodes, _ := s.e.board.View(nodeKey)
	if _, ok := nodes[s.e.cfg.Name]; early || !ok {
		return
	}
	for name, n := range nodes {
		if name != s.e.cfg.Name {
			s.judge(ctx, name, n)
		}
	}
}

// judge declares a node dead if it is silent, by what is known of it. If that is not the latest, it is
// judged by what is: at once if this was seen before, as by an earlier judgement, and otherwise at a later
// one.
func (s *Session) judge(ctx context.Context, name string, n Note) {
	ctx, cancel := context.WithTimeout(ctx, attempt)
	defer cancel()
	err := ErrFenced
	for range 2 {
		if !silent(n) {
			return
		}
		if _, err = s.e.board.say(ctx, nodeKey+name, nil, n.Revision); !errors.Is(err, ErrFenced) {
			break
		}
		if n, err = s.e.board.Read(ctx, nodeKey+name); err != nil { // it spoke, or the servers have lost what is known
			return
		}
	}
	if err == nil {
		s.e.cfg.Log.Warn("a node is dead: it was silent for too long", "node", name, "silent", time.Since(n.seen).Round(100*time.Millisecond))
	}
}

// silent reports whether a node is there by the board and has said nothing for a whole lease.
func silent(n Note) bool {
	wait, err := wanting(n, "")
	return len(n.Value) > 0 && err == nil && wait < 0
}

// leave ends the session, so that nobody waits for it to fall silent.
func (s *Session) leave() {
	s.stop()
	s.done.Wait()
	s.mu.Lock()
	revision := s.revision
	s.sureUntil = time.Time{}
	s.release()
	s.mu.Unlock()
	short, cancel := context.WithTimeout(context.Background(), 4*attempt)
	defer cancel()
	key := nodeKey + s.e.cfg.Name
	_, err := s.e.board.say(short, key, nil, revision) // if it fails the session falls silent
	if !errors.Is(err, ErrFenced) {
		return
	}
	if now, err := s.latest(short); err == nil { // a renewal was under way when it was stopped
		_, _ = s.e.board.say(short, key, nil, now.Revision)
	}
}

// Members returns the nodes that are there and said something of themselves, by what has arrived of
// the board.
func (b *Board) Members() map[string]json.RawMessage {
	members := map[string]json.RawMessage{}
	for name, p := range b.presences() {
		if len(p.About) > 0 {
			members[name] = p.About
		}
	}
	return members
}

func (b *Board) presences() map[string]presence {
	nodes, _ := b.View(nodeKey)
	all := map[string]presence{}
	for name, n := range nodes {
		var p presence
		if json.Unmarshal(n.Value, &p) == nil {
			all[name] = p
		}
	}
	return all
}

func ownerKey(shard int) string { return "owner." + strconv.Itoa(shard) }

// take makes this node the owner of a shard, unless another one is that is alive, and returns the
// revision of the entry that says so.
func (e *Engine) take(ctx context.Context, shard int) (uint64, error) {
	if e.session == nil { // the folder is locked
		return 0, nil
	}
	me := e.cfg.Name + "/" + e.session.id
	owner, err := e.board.Read(ctx, ownerKey(shard))
	if err != nil {
		return 0, err
	}
	if name, id, ok := strings.Cut(string(owner.Value), "/"); ok && string(owner.Value) != me {
		node, err := e.board.Read(ctx, nodeKey+name)
		if err != nil {
			return 0, err
		}
		var p presence
		if len(node.Value) > 0 && json.Unmarshal(node.Value, &p) == nil && p.ID == id {
			return 0, fmt.Errorf("%w: shard %d is with %s", ErrBusy, shard, name)
		}
	}
	revision, err := e.board.Write(ctx, ownerKey(shard), []byte(me), owner.Revision)
	if errors.Is(err, ErrFenced) {
		return 0, fmt.Errorf("%w: shard %d was taken", ErrBusy, shard)
	}
	return revision, err
}

// Owners returns the names of the nodes that own shards, by what has arrived of the board. What
// belongs to a session that is over is nobody's, also if there is a node of that name again.
func (b *Board) Owners() map[int]string {
	notes, _ := b.View("owner.")
	nodes, owners := b.presences(), map[int]string{}
	for key, n := range notes {
		shard, err := strconv.Atoi(key)
		if name, id, ok := strings.Cut(string(n.Value), "/"); ok && err == nil && nodes[name].ID == id {
			owners[shard] = name
		}
	}
	return owners
}
