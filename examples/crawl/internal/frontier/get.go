package frontier

import (
	"google.golang.org/grpc"

	"github.com/recrawl/recrawl/examples/crawl/internal/frontier/book"
	pb "github.com/recrawl/recrawl/examples/crawl/internal/frontier/urlfrontierpb"
)

// GetURLs implements the interface. All URLs are leased in the log before the first one is sent.
func (s *Server) GetURLs(p *pb.GetParams, stream grpc.ServerStreamingServer[pb.URLInfo]) error {
	if err := checkNames(p); err != nil {
		return err
	}
	ask := &book.Ask{
		Key: p.GetKey(), Queues: int(p.GetMaxQueues()), PerQueue: int(p.GetMaxUrlsPerQueue()),
		Lease: float64(p.GetDelayRequestable()), Most: s.budget.take(),
	}
	if ask.Lease == 0 {
		ask.Lease = defaultLease
	}
	switch item := p.GetItem().(type) {
	case *pb.GetParams_CrawlID:
		ask.Crawl = crawlName(item.CrawlID)
	case nil:
		if ask.Key != "" {
			ask.Crawl = defaultCrawl
		}
	}
	gifts, err := s.give(stream, ask)
	if ask.Most > 0 {
		s.budget.giveBack(ask.Most)
	}
	if err != nil {
		return failed(err)
	}
	for _, g := range gifts {
		info, err := infoFrom(g.URL, g.Key, g.Crawl, g.Meta)
		if err != nil {
			return err
		}
		if err := stream.Send(info); err != nil {
			return err
		}
	}
	return nil
}

// give has the state choose URLs, and returns them once they are leased.
func (s *Server) give(stream grpc.ServerStreamingServer[pb.URLInfo], ask *book.Ask) (all []book.Gift, err error) {
	last := nothing
	for more := true; more && err == nil && stream.Context().Err() == nil; {
		p, failed := s.journal.Do(func(state *book.State, now float64) ([]book.Event, error) {
			gifts, events, err := ask.Step(state, now, stride)
			all = append(all, gifts...)
			more = len(gifts) == stride
			return events, err
		})
		if err = failed; err == nil {
			last = p
		}
	}
	if failed := s.journal.View(func(_ *book.State, now float64) { ask.End(now) }); err == nil {
		err = failed
	}
	if err == nil {
		err = last.Wait() // packs are logged in order
	}
	return all, err
}
