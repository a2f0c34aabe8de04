package frontier

import (
	"context"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/recrawl/recrawl/examples/crawl/internal/frontier/book"
	pb "github.com/recrawl/recrawl/examples/crawl/internal/frontier/urlfrontierpb"
)

// SetActive implements the interface.
func (s *Server) SetActive(_ context.Context, p *pb.Active) (*pb.Empty, error) {
	_, err := s.change(book.Event{Kind: book.Active, On: p.GetState()})
	return &pb.Empty{}, err
}

// GetActive implements the interface.
func (s *Server) GetActive(context.Context, *pb.Local) (*pb.Boolean, error) {
	answer := &pb.Boolean{}
	err := s.view(func(state *book.State, _ float64) { answer.State = !state.Paused })
	return answer, err
}

// SetDelay implements the interface. What is set of a queue that has no URL yet holds for when it
// has.
func (s *Server) SetDelay(_ context.Context, p *pb.QueueDelayParams) (*pb.Empty, error) {
	e := book.Event{Kind: book.Delay, Key: p.GetKey(), Seconds: float64(p.GetDelayRequestable())}
	if e.Key != "" {
		e.Crawl = crawlName(p.GetCrawlID())
	}
	_, err := s.change(e)
	return &pb.Empty{}, err
}

// BlockQueueUntil implements the interface.
func (s *Server) BlockQueueUntil(_ context.Context, p *pb.BlockQueueParams) (*pb.Empty, error) {
	if err := checkKey(p.GetKey()); err != nil {
		return nil, err
	}
	_, err := s.change(book.Event{Kind: book.Block, Crawl: crawlName(p.GetCrawlID()), Key: p.GetKey(), Seconds: float64(p.GetTime()) + s.lag(p.GetTime())})
	return &pb.Empty{}, err
}

// SetCrawlLimit implements the interface.
func (s *Server) SetCrawlLimit(_ context.Context, p *pb.CrawlLimitParams) (*pb.Empty, error) {
	if err := checkKey(p.GetKey()); err != nil {
		return nil, err
	}
	e := book.Event{Kind: book.Limit, Crawl: crawlName(p.GetCrawlID()), Key: p.GetKey(), Number: p.GetLimit()}
	known := false
	if err := s.view(func(state *book.State, _ float64) { known = state.Queue(e.Crawl, e.Key) != nil }); err != nil {
		return nil, err
	}
	if !known {
		return nil, status.Errorf(codes.NotFound, "there is no queue %q in crawl %q", e.Key, e.Crawl)
	}
	_, err := s.change(e)
	return &pb.Empty{}, err
}

// DeleteQueue implements the interface.
func (s *Server) DeleteQueue(_ context.Context, p *pb.QueueWithinCrawlParams) (*pb.Long, error) {
	if err := checkKey(p.GetKey()); err != nil {
		return nil, err
	}
	gone, err := s.change(book.Event{Kind: book.DeleteQueue, Crawl: crawlName(p.GetCrawlID()), Key: p.GetKey()})
	return &pb.Long{Value: uint64(gone)}, err
}

// DeleteCrawl implements the interface.
func (s *Server) DeleteCrawl(_ context.Context, p *pb.DeleteCrawlMessage) (*pb.Long, error) {
	gone, err := s.change(book.Event{Kind: book.DeleteCrawl, Crawl: crawlName(p.GetValue())})
	return &pb.Long{Value: uint64(gone)}, err
}

// PurgeURLs implements the interface.
func (s *Server) PurgeURLs(_ context.Context, p *pb.PurgeUrlParams) (*pb.Long, error) {
	before := max(0, float64(s.cfg.Clock.Now().Unix())-day*float64(p.GetDays()))
	gone, err := s.change(book.Event{Kind: book.Purge, Crawl: crawlName(p.GetCrawlID()), Key: p.GetKey(), Seconds: before})
	return &pb.Long{Value: uint64(gone)}, err
}

// SetLogLevel answers that it is not implemented.
func (s *Server) SetLogLevel(context.Context, *pb.LogLevelParams) (*pb.Empty, error) {
	return nil, status.Error(codes.Unimplemented, "this server has one log and no packages to tell apart")
}
