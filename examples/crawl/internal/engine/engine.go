package engine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

var (
	// ErrBusy reports that another process works in the folder, or owns the shard.
	ErrBusy = errors.New("engine: in use by another process")
	// ErrFenced reports that another owner took the shard over: what this one wrote since does
	// not count.
	ErrFenced = errors.New("engine: another owner has the shard")
	// ErrStorage reports that the state cannot be written: the disk is full, say, or fails, or the folder is
	// read only. It names the file, where it is one.
	ErrStorage = errors.New("engine: cannot write the state")
	// ErrTooLarge reports a record that is larger than the server takes. Nothing was written.
	ErrTooLarge = errors.New("engine: the record is too large")
	// ErrNone reports that there is no state to look at.
	ErrNone = errors.New("engine: there is no state yet")
	// ErrState reports that the state cannot be read.
	ErrState = errors.New("engine: cannot read the state")
)

const (
	streamName = "CRAWL"
	snapBucket = "snap"
	// attempt is the time for one request; a context with a deadline is what keeps a request to
	// a cluster without a leader from waiting for ever.
	attempt = time.Second
	// ready is the time for an embedded server to read its files: 4.3 s were measured for a
	// million records.
	ready = time.Minute
	// patience is the time after which it is said that a cluster is waited for: more than an
	// election takes.
	patience = 15 * time.Second
	// chunk is the time for a part of a snapshot: a snapshot of a million pages has 5,000, and a
	// busy disk took more than the 5 s that the client gives them.
	chunk = time.Minute
	// mute is the time after which a server within the process that does not answer is begun anew: its
	// storage has failed, and may be well again.
	mute = time.Minute
	// Reserve is the free space below which nothing more is written: a server that runs into the
	// end of a disk stops its storage altogether.
	Reserve = 64 << 20
	// MaxRecord is the greatest size of a record: half of a server's default limit.
	MaxRecord = 512 << 10
	// leastPayload is what a server must take: a record, and what goes with it.
	leastPayload = MaxRecord + 64<<10
)

// Config describes an Engine.
type Config struct {
	// Dir is the folder of the embedded server.
	Dir string
	// Access, if it has a URL, is that of servers to use instead.
	Access
	// Shards is into how many parts the crawl is divided; 0 means as many as there are, and to begin
	// with 1, or clusterShards in a cluster. What a folder or a cluster begins with stays.
	Shards int
	// Objective is what the crawl is for, as text; empty for what it is for already. What a folder or a
	// cluster begins with stays, see Engine.Objective.
	Objective string
	// Kind is what writes the state, crawl or frontier say; empty for any. What a folder or a cluster was
	// begun with stays.
	Kind string
	// Replicas of all that is kept; 0 means 1. What a cluster begins with stays.
	Replicas int
	// Lease is how long a node that fell silent keeps its shards; 0 means DefaultLease. All nodes
	// should have the same.
	Lease time.Duration
	// SyncAlways has each record written through to the disk before it counts.
	SyncAlways bool
	// LookOnly creates nothing on servers elsewhere, and does not join; where they have nothing Open returns ErrNone.
	LookOnly bool
	// Known says that there was a state already: if the folder lost it, as its disk is gone, Open returns ErrStorage
	// and begins no other one.
	Known bool
	// KeepLog purges nothing: the log is then an account of all polls.
	KeepLog bool
	// Name is that of this node: letters, digits, - and _. Empty means the host's and the process's
	// number.
	Name string
	// namesake is how long a live node of the same name is waited for.
	namesake time.Duration
	// Log is where the engine says what it does; nil is [slog.Default].
	Log *slog.Logger
}

// An Engine is a connection to a server, which may be within the process.
type Engine struct {
	cfg     Config
	lock    *flock.Flock   // of an embedded server
	server  *server.Server // nil if it is elsewhere
	store   storeLog       // of the embedded one
	conn    *nats.Conn
	js      jetstream.JetStream
	stream  jetstream.Stream
	shards  int
	blobs   jetstream.ObjectStore
	objects jetstream.Stream // that blobs is made of

	settled time.Duration // after which what was written is synced

	listing sync.Mutex
	listed  map[int][]blob // see earlier

	// Of a node of a cluster, else nil.
	board   *Board
	session *Session
}

// clusterShards is enough for the loads of a dozen nodes to be even, and few enough for each
// learner to have pages to compare; see TestDivided in package crawler.
const clusterShards = 16

// DefaultLease is short enough for the shards of a dead node to be polled again within 15 s, and
// long enough for renewals to be missed. An election of the engine takes up to 9 s; nodes rest
// meanwhile, and keep their shards.
const DefaultLease = 8 * time.Second

// HasState reports whether a folder has the state of an embedded server.
func HasState(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, storeDir, "jetstream"))
	return err == nil
}

// stillThere returns ErrStorage if a folder has no state any more.
func stillThere(dir string) error {
	if HasState(dir) {
		return nil
	}
	return fmt.Errorf("%w: what was in %s is gone", ErrStorage, dir)
}

// storeDir is where an embedded server keeps its files.
const storeDir = "nats"

// Open starts the server, or connects to it.
func Open(ctx context.Context, cfg Config) (*Engine, error) {
	if cfg.Log == nil {
		cfg.Log = slog.Default()
	}
	cfg.Replicas = max(cfg.Replicas, 1)
	if cfg.namesake == 0 {
		cfg.namesake = patient
	}
	if cfg.Lease == 0 {
		cfg.Lease = DefaultLease
	}
	if cfg.Name == "" {
		host, _ := os.Hostname()
		cfg.Name = clean(fmt.Sprintf("%s-%d", host, os.Getpid()))
	}
	if !IsName(cfg.Name) {
		return nil, fmt.Errorf("engine: name %q of a node: want letters, digits, - and _", cfg.Name)
	}
	e := &Engine{cfg: cfg, settled: settled}
	if cfg.SyncAlways && cfg.URL == "" {
		e.settled = 0
	}
	if err := e.open(ctx); err != nil {
		e.Close()
		return nil, err
	}
	return e, nil
}

// IsName reports whether a text can be the name of a node, see Config.
func IsName(text string) bool { return text == clean(text) }

// clean returns a text as a name of a node.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, text)
}

func (e *Engine) open(ctx context.Context) error {
	if e.cfg.URL == "" {
		if err := e.embed(); err != nil {
			return err
		}
	}
	err := e.connect(ctx)
	if err == nil {
		e.js, err = jetstream.New(e.conn, jetstream.WithPublishAsyncTimeout(chunk), jetstream.WithPublishAsyncMaxPending(64))
	}
	if err != nil {
		return fmt.Errorf("engine: %w", err)
	}
	if most := e.conn.MaxPayload(); most < leastPayload {
		return fmt.Errorf("%w: the servers take messages of %d bytes: want %d at least, see max_payload of their configuration", ErrTooLarge, most, leastPayload)
	}
	if err := e.create(ctx); err != nil {
		return err
	}
	if e.clean(ctx); e.server != nil || e.cfg.LookOnly { // who only looks is no node
		return nil
	}
	if err := e.createBoard(ctx); err != nil {
		return err
	}
	return e.join(ctx)
}

// Session returns that of this node in a cluster; nil where the server is within the process, or for who only looks.
func (e *Engine) Session() *Session { return e.session }

// writable checks that a folder and what is in it can be written to, which a server would not say: it
// does not answer then.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("%w in %s: %w", ErrStorage, dir, err)
	}
	probe, err := os.CreateTemp(dir, ".probe-*")
	if err != nil {
		return fmt.Errorf("%w in %s: %w", ErrStorage, dir, err)
	}
	// What is written may get no further than into memory: a disk that fails says so when that is synced.
	_, err = probe.Write(make([]byte, 512))
	if err := errors.Join(err, probe.Sync(), probe.Close(), os.Remove(probe.Name())); err != nil {
		return fmt.Errorf("%w in %s: %w", ErrStorage, dir, err)
	}
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == blockExt {
			var f *os.File
			if f, err = os.OpenFile(path, os.O_RDWR, 0); err == nil {
				err = f.Close()
			}
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // or the server removed it just now
			return fmt.Errorf("%w: %w", ErrStorage, err)
		}
		return nil
	})
}

// blockExt is the ending of the files that a server appends to.
const blockExt = ".blk"

// embed starts a server within the process. Two servers would both open one folder, and both
// acknowledge the same record, so there is a lock.
func (e *Engine) embed() error {
	dir := e.cfg.Dir
	if e.cfg.Known {
		if err := stillThere(dir); err != nil {
			return err
		}
	}
	if err := writable(dir); err != nil {
		return err
	}
	e.lock = flock.New(filepath.Join(dir, "lock"))
	switch locked, err := e.lock.TryLock(); {
	case err != nil:
		return fmt.Errorf("%w in %s: %w", ErrStorage, dir, err)
	case !locked:
		return fmt.Errorf("%w: %s", ErrBusy, dir)
	}
	if err := e.space(); err != nil {
		return err
	}
	var err error
	e.server, err = server.NewServer(&server.Options{
		ServerName: "crawl", DontListen: true, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: filepath.Join(dir, storeDir), SyncAlways: e.cfg.SyncAlways,
		// The disk is the limit, which space watches.
		JetStreamMaxMemory: 1 << 30, JetStreamMaxStore: 1 << 50,
	})
	if err != nil {
		return fmt.Errorf("%w in %s: %w", ErrState, dir, err)
	}
	e.server.SetLoggerV2(&e.store, false, false, false)
	e.server.Start()
	if !e.server.ReadyForConnections(ready) {
		return fmt.Errorf("%w in %s: the server does not come up", ErrState, dir)
	}
	return nil
}

// space reports whether there is room for more.
func (e *Engine) space() error { return e.spaceFor(0) }

// spaceFor reports whether there is room for so many bytes, and more.
func (e *Engine) spaceFor(bytes int) error {
	if e.server == nil && e.lock == nil {
		return nil
	}
	// The server goes on with files that were deleted, as long as it has them open.
	if e.stream != nil {
		if err := stillThere(e.cfg.Dir); err != nil {
			return err
		}
	}
	free, err := freeSpace(e.cfg.Dir)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil
	case err != nil:
		return fmt.Errorf("%w in %s: %w", ErrStorage, e.cfg.Dir, err)
	case free < Reserve+uint64(bytes):
		return fmt.Errorf("%w: %d MiB free where %s is, and %d are to stay free beside %d to be written", ErrStorage, free>>20, e.cfg.Dir, Reserve>>20, bytes>>20)
	}
	return nil
}

// create creates what is not there yet, and adopts what is.
func (e *Engine) create(ctx context.Context) error {
	var other string
	none := false
	err := e.patiently(ctx, func(ctx context.Context) (err error) {
		e.stream, err = e.js.Stream(ctx, streamName)
		if none = e.cfg.LookOnly && e.server == nil && errors.Is(err, jetstream.ErrStreamNotFound); none {
			return nil
		}
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			shards := e.cfg.Shards
			if shards == 0 && e.server == nil {
				shards = clusterShards
			}
			cfg := jetstream.StreamConfig{
				Name: streamName, Subjects: []string{"crawl.*.log", "crawl.*.snap"},
				Storage: jetstream.FileStorage, Retention: jetstream.LimitsPolicy, Replicas: e.cfg.Replicas,
				AllowRollup: true, DenyDelete: true,
				Metadata: map[string]string{"shards": strconv.Itoa(max(shards, 1)), "objective": e.cfg.Objective, "kind": e.cfg.Kind},
			}
			e.stream, err = e.js.CreateStream(ctx, cfg)
			if err == nil && e.server != nil && e.stream.CachedInfo().State.LastSeq > 0 {
				err = e.describe(ctx, cfg)
			}
		}
		if err != nil {
			return err
		}
		metadata := e.stream.CachedInfo().Config.Metadata
		if kind := metadata["kind"]; kind != "" && e.cfg.Kind != "" && kind != e.cfg.Kind {
			other = fmt.Sprintf("it is that of a %s, and this is a %s: begin anew elsewhere", kind, e.cfg.Kind)
			return nil
		}
		there := metadata["shards"]
		if e.shards, err = strconv.Atoi(there); err != nil {
			other = fmt.Sprintf("it has %q shards", there)
			return nil
		}
		if e.cfg.Shards != 0 && e.cfg.Shards != e.shards {
			other = fmt.Sprintf("-shards %d, but it was begun with %d, and that stays: leave -shards out, or begin anew elsewhere", e.cfg.Shards, e.shards)
			return nil
		}
		e.blobs, err = e.js.ObjectStore(ctx, snapBucket)
		if errors.Is(err, jetstream.ErrBucketNotFound) {
			e.blobs, err = e.js.CreateObjectStore(ctx, jetstream.ObjectStoreConfig{Bucket: snapBucket, Replicas: e.cfg.Replicas})
		}
		if err == nil {
			e.objects, err = e.js.Stream(ctx, objectsName)
		}
		return err
	})
	if none {
		return ErrNone
	}
	if other != "" {
		return fmt.Errorf("%w: %s", ErrState, other)
	}
	if err != nil {
		return err
	}
	if e.server == nil {
		if has := e.stream.CachedInfo().Config.Replicas; has < e.cfg.Replicas {
			e.cfg.Log.Warn("the cluster was begun with fewer replicas, and that stays", "has", has, "asked for", e.cfg.Replicas)
		}
		return nil
	}
	return e.tellLoss(ctx, mostDeleted)
}

// describe says anew what a stream is that an embedded server found without the file that describes it, or with a
// damaged one. The records are there, one of each shard at least; for what they were made is not known any more.
func (e *Engine) describe(ctx context.Context, cfg jetstream.StreamConfig) error {
	info, err := e.stream.Info(ctx, jetstream.WithSubjectFilter("crawl.*.log"))
	if err != nil {
		return err
	}
	shards := 1
	for subject := range info.State.Subjects {
		n := 0
		if _, err := fmt.Sscanf(subject, "crawl.%d.log", &n); err == nil {
			shards = max(shards, n+1)
		}
	}
	e.cfg.Log.Error("the file that describes the state is damaged or lost; the shards are those of the log, and if the crawl was begun with an -objective it is to be given again",
		"folder", e.cfg.Dir, "shards", shards)
	cfg.Metadata = map[string]string{"shards": strconv.Itoa(shards)}
	e.stream, err = e.js.UpdateStream(ctx, cfg)
	return err
}

// mostDeleted is the number of deleted records up to which a server is asked what it lost: it lists them all then. A
// million take half a second, and of twelve it cuts the connection off. There are as many where one shard rests, and
// keeps its oldest record, while others write.
const mostDeleted = 1 << 18

// tellLoss says whether the embedded server found the end of the log damaged, unless too many records are deleted to
// ask. It cuts the log off there, and keeps nothing by which a shard would notice.
func (e *Engine) tellLoss(ctx context.Context, most int) error {
	return e.patiently(ctx, func(ctx context.Context) error {
		info, err := e.stream.Info(ctx)
		if err != nil || info.State.NumDeleted > most {
			return err
		}
		info, err = e.stream.Info(ctx, jetstream.WithDeletedDetails(true)) // or it leaves out what is lost
		if err == nil && info.State.Lost != nil {
			e.cfg.Log.Error("the end of the log was damaged and is lost; what was logged before that counts", "folder", e.cfg.Dir, "bytes", info.State.Lost.Bytes)
		}
		return err
	})
}

// Name returns that of this node.
func (e *Engine) Name() string { return e.cfg.Name }

// Objective returns what the folder or the cluster was begun for; empty if that is not known.
func (e *Engine) Objective() string { return e.stream.CachedInfo().Config.Metadata["objective"] }

// Shards returns into how many parts the crawl is divided.
func (e *Engine) Shards() int { return e.shards }

// patiently repeats a request until it succeeds or the context ends: a cluster may be electing.
// An embedded server has no such excuse and is given ten attempts. One that does not answer may have no
// processor to itself, and has as long as for a record.
func (e *Engine) patiently(ctx context.Context, request func(context.Context) error) error {
	first := time.Now()
	for k, began := 1, first; ; k++ {
		short, cancel := context.WithTimeout(ctx, attempt)
		err := request(short)
		cancel()
		if err == nil {
			return nil
		}
		if full := e.full(err); full != nil {
			return full
		}
		if errors.Is(err, nats.ErrMaxPayload) {
			return fmt.Errorf("%w: %w", ErrTooLarge, err)
		}
		silent := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
		switch {
		case ctx.Err() != nil, e.server != nil && k >= 10 && !silent:
			return fmt.Errorf("engine: %w", err)
		case e.server != nil && time.Since(first) > mute:
			return e.silent(err)
		}
		began = e.complain(began, err)
		time.Sleep(50 * time.Millisecond)
	}
}

// silent returns the error of an embedded server that does not answer.
func (e *Engine) silent(err error) error {
	return fmt.Errorf("%w in %s: the server does not answer: %w", ErrStorage, e.cfg.Dir, err)
}

// complain says what is wrong with a cluster if that has lasted too long, and returns since when it
// has, or was last said.
func (e *Engine) complain(began time.Time, err error) time.Time {
	if time.Since(began) < patience {
		return began
	}
	e.cfg.Log.Warn("NATS does not do what it is asked; trying on", "error", err)
	return time.Now()
}

// full returns an ErrStorage if that is what the error is about.
func (e *Engine) full(err error) error {
	if space := e.space(); space != nil {
		return space
	}
	if e.server != nil {
		if err := writable(e.cfg.Dir); err != nil { // as when a disk was lately found to be damaged
			return err
		}
		if why := e.store.why(); why != "" {
			return fmt.Errorf("%w in %s: %s", ErrStorage, e.cfg.Dir, why)
		}
	}
	var api *jetstream.APIError
	if errors.As(err, &api) {
		switch api.ErrorCode {
		case 10023, 10047, 10028, 10077: // insufficient resources, no storage, the store failed
			return fmt.Errorf("%w: %w", ErrStorage, err)
		}
	}
	if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		return fmt.Errorf("%w: %w", ErrStorage, err)
	}
	return nil
}

// Close ends the connection and the embedded server.
func (e *Engine) Close() {
	if e.session != nil {
		e.session.leave()
	}
	if e.conn != nil {
		e.conn.Close()
	}
	if e.server != nil {
		e.server.Shutdown()
		e.server.WaitForShutdown()
	}
	if e.lock != nil {
		_ = e.lock.Close()
	}
}
