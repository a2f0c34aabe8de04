package frontier

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	_ "google.golang.org/grpc/encoding/gzip" // clients may compress, which servers in Java and Python understand unasked
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/status"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/frontier/book"
	pb "github.com/recrawl/recrawl/examples/crawl/internal/frontier/urlfrontierpb"
)

// Config describes a Server.
type Config struct {
	State *book.State
	Log   Log
	Clock clock.Clock
	// Machine tells the time that clients go by; nil means time.Now. A Clock may be ahead of it.
	Machine func() time.Time
	// Address is what ListNodes answers.
	Address string
	// Keys name the metadata that says what became of a fetch.
	Keys book.Keys
	// IgnoreDates gives a URL that was learnt of before the date that its client gave it, if it is
	// worth it. Set PerSecond then, or a client that asks all the time fetches all the time.
	IgnoreDates bool
	// PerSecond is the greatest number of URLs to give in a second on average; 0 for any.
	PerSecond float64
	// Delay is that of queues for which none is set; nil leaves it as it was.
	Delay *time.Duration
	// SkipKnown acknowledges a discovered URL that is known by SKIPPED instead of OK.
	SkipKnown bool
	// TLS, if not nil, is used instead of plain text.
	TLS credentials.TransportCredentials
}

const (
	defaultCrawl = "DEFAULT"
	defaultLease = 30 // seconds
	defaultPage  = 100
	longestKey   = 255 // bytes, as in the reference
	longestURL   = 16 << 10
	longestMeta  = 128 << 10 // of a URL, as it is on the wire
	// longestMessage is of a batch of discovered URLs: gRPC's own limit, which the reference has.
	longestMessage = 4 << 20
	// mostURLs of a batch are more than fit into a message if each has a host. An empty one takes 2 bytes
	// there, and a hundred times as much in memory.
	mostURLs = longestMessage / 32
	// stride is how many URLs are given or listed at a time, between which others have their turn.
	stride = 1024
	// goodbye is how long calls have to end when the server stops, lastRecord how long the log then has
	// for what they changed, and lastSnapshot is the time for the state to be saved.
	goodbye      = 5 * time.Second
	lastRecord   = 5 * time.Second
	lastSnapshot = 30 * time.Second
	day          = 86400
)

// errUnlogged reports that the server was to stop while its log could not be written. Clients were told
// that their latest changes did not count.
var errUnlogged = errors.New("frontier: the latest changes could not be logged before the end; they were not acknowledged")

// A Server serves the URLFrontier interface.
type Server struct {
	pb.UnimplementedURLFrontierServer
	cfg     Config
	journal *journal
	budget  *budget

	goodbye, lastRecord time.Duration

	lags atomic.Bool // the clock is ahead, and that was told
}

// New returns a server.
func New(cfg Config) *Server {
	if cfg.Machine == nil {
		cfg.Machine = time.Now
	}
	return &Server{
		cfg: cfg, journal: newJournal(cfg.State, cfg.Log, cfg.Clock), budget: newBudget(cfg.PerSecond, cfg.Clock),
		goodbye: goodbye, lastRecord: lastRecord,
	}
}

// Serve serves clients until the context ends or the log fails, and saves the state. After the context
// has ended it takes a minute at most, whatever the log does.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	options := []grpc.ServerOption{
		grpc.MaxRecvMsgSize(longestMessage),
		grpc.UnaryInterceptor(func(ctx context.Context, call any, _ *grpc.UnaryServerInfo, answer grpc.UnaryHandler) (any, error) {
			if err := checkNames(call); err != nil {
				return nil, err
			}
			return answer(ctx, call)
		}),
		// Clients of the interface ping as often as they like.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: time.Second, PermitWithoutStream: true}),
	}
	if s.cfg.TLS != nil {
		options = append(options, grpc.Creds(s.cfg.TLS))
	}
	g := grpc.NewServer(options...)
	pb.RegisterURLFrontierServer(g, s)

	if s.cfg.Delay != nil {
		if _, _, err := s.journal.Apply(book.Event{Kind: book.Delay, Seconds: s.cfg.Delay.Seconds()}); err != nil {
			return err
		}
	}
	logging, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	logged := make(chan error, 1)
	go func() {
		err := s.journal.Run(logging)
		if err != nil && logging.Err() != nil {
			err = errUnlogged
		}
		logged <- err
		g.Stop()
	}()
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(s.goodbye+s.lastRecord, giveUp)
		timer := time.AfterFunc(s.goodbye, g.Stop)
		defer timer.Stop()
		g.GracefulStop()
	})
	defer stop()
	err := g.Serve(l)
	g.Stop() // returns when all calls have
	s.journal.Close()
	return errors.Join(<-logged, err)
}

// failed returns the error of a call whose change cannot be logged.
func failed(err error) error {
	return status.Error(codes.Unavailable, fmt.Sprintf("nothing can be changed just now: %v", err))
}

// change applies an event, and returns how many URLs are gone once it is logged.
func (s *Server) change(e book.Event) (gone int, err error) {
	gone, p, err := s.journal.Apply(e)
	if errors.Is(err, book.ErrEvent) {
		return 0, status.Error(codes.InvalidArgument, err.Error())
	}
	if err == nil {
		err = p.Wait()
	}
	if err != nil {
		return 0, failed(err)
	}
	return gone, nil
}

// leastLag is by how much the server's clock must be ahead for the times of clients to be moved. A clock
// that was not set may be ahead by less.
const leastLag = time.Second

// lag returns by how many seconds the server's clock will be ahead when clients have a time, in seconds. It is ahead
// after the machine's was, by mistake say, and then runs more slowly until the other has caught up. Times of
// clients would else be over too early.
func (s *Server) lag(date uint64) float64 {
	now := s.cfg.Machine()
	ahead := s.cfg.Clock.Now().Sub(now)
	lags := ahead > leastLag
	if s.lags.CompareAndSwap(!lags, lags) {
		if lags {
			slog.Warn("the clock of the frontier is ahead of the machine's, which was set back; the dates of clients are moved by as much until it has caught up", "ahead", ahead.Round(time.Second))
		} else {
			slog.Info("the clock of the frontier is that of the machine again")
		}
	}
	if !lags || date == 0 { // 0 stands for no time
		return 0
	}
	const longest = 1e9 // seconds: of a time.Duration
	after := min(max(float64(date)-float64(now.Unix()), 0), longest)
	return clock.Left(ahead, time.Duration(after*float64(time.Second))).Seconds()
}

// crawlName returns the name of a crawl.
func crawlName(name string) string {
	if name == "" {
		return defaultCrawl
	}
	return name
}

// checkNames returns an error for a call that names a crawl or a queue that cannot be: a name that is
// longer than that of any would not fit into a record of the log.
func checkNames(call any) error {
	names := map[string]string{}
	if c, ok := call.(interface{ GetKey() string }); ok {
		names["key"] = c.GetKey()
	}
	if c, ok := call.(interface{ GetCrawlID() string }); ok {
		names["crawlID"] = c.GetCrawlID()
	}
	if c, ok := call.(*pb.DeleteCrawlMessage); ok {
		names["value"] = c.GetValue()
	}
	for name, text := range names {
		if len(text) > longestKey {
			return status.Errorf(codes.InvalidArgument, "%s has %d bytes: want %d at most", name, len(text), longestKey)
		}
	}
	return nil
}

// checkKey returns an error for a call that names no queue.
func checkKey(key string) error {
	if key == "" {
		return status.Error(codes.InvalidArgument, "key is empty: want that of a queue")
	}
	return nil
}
