package frontier

import (
	"context"
	"iter"
	"slices"
	"strings"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/recrawl/recrawl/examples/crawl/internal/frontier/book"
	pb "github.com/recrawl/recrawl/examples/crawl/internal/frontier/urlfrontierpb"
)

// view calls a function with the state.
func (s *Server) view(do func(state *book.State, now float64)) error {
	if err := s.journal.View(do); err != nil {
		return failed(err)
	}
	return nil
}

// ListNodes implements the interface.
func (s *Server) ListNodes(context.Context, *pb.Empty) (*pb.StringList, error) {
	return &pb.StringList{Values: []string{s.cfg.Address}}, nil
}

// ListCrawls implements the interface.
func (s *Server) ListCrawls(context.Context, *pb.Local) (*pb.StringList, error) {
	list := &pb.StringList{}
	err := s.view(func(state *book.State, _ float64) {
		for c := range state.Crawls() {
			list.Values = append(list.Values, c.Name())
		}
	})
	return list, err
}

// ListQueues implements the interface.
func (s *Server) ListQueues(_ context.Context, p *pb.Pagination) (*pb.QueueList, error) {
	size := int(p.GetSize())
	if size == 0 {
		size = defaultPage
	}
	list := &pb.QueueList{Start: p.GetStart(), CrawlID: crawlName(p.GetCrawlID())}
	err := s.view(func(state *book.State, now float64) {
		for q := range queues(state, list.CrawlID, "") {
			if !p.GetIncludeInactive() && (q.Active() == 0 || q.Blocked(now)) {
				continue
			}
			if list.Total >= uint64(p.GetStart()) && len(list.Values) < size {
				list.Values = append(list.Values, q.Key())
			}
			list.Total++
		}
	})
	list.Size = uint32(len(list.Values))
	return list, err
}

// queues returns a queue, or all of a crawl if the key is empty, that have URLs.
func queues(state *book.State, crawl, key string) iter.Seq[*book.Queue] {
	c := state.Crawl(crawl)
	switch {
	case c == nil:
		return func(func(*book.Queue) bool) {}
	case key == "":
		return c.Queues()
	}
	return func(yield func(*book.Queue) bool) {
		if q := c.Queue(key); q != nil && q.Len() > 0 {
			yield(q)
		}
	}
}

// GetStats implements the interface.
func (s *Server) GetStats(_ context.Context, p *pb.QueueWithinCrawlParams) (*pb.Stats, error) {
	stats := &pb.Stats{CrawlID: crawlName(p.GetCrawlID())}
	completed, active := 0, 0
	err := s.inStrides(stats.CrawlID, p.GetKey(), func(q *book.Queue, _, _ int, now float64) int {
		stats.NumberOfQueues++
		stats.Size += uint64(q.Active())
		stats.InProcess += uint32(q.Leased(now))
		completed += q.Completed()
		if q.Active() > 0 {
			active++
		}
		return q.Len()
	})
	stats.Counts = map[string]uint64{"completed": uint64(completed), "active_queues": uint64(active)}
	return stats, err
}

// GetURLStatus implements the interface.
func (s *Server) GetURLStatus(_ context.Context, p *pb.URLStatusRequest) (*pb.URLItem, error) {
	key, crawl := p.GetKey(), crawlName(p.GetCrawlID())
	if key == "" {
		key = hostOf(p.GetUrl())
	}
	var item book.Item
	found := false
	err := s.view(func(state *book.State, _ float64) {
		var q *book.Queue
		var pos uint32
		if q, pos, found = state.Find(crawl, key, p.GetUrl()); found {
			item = q.Item(pos)
		}
	})
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, status.Errorf(codes.NotFound, "%q is not in queue %q of crawl %q", p.GetUrl(), key, crawl)
	}
	return itemFrom(item, key, crawl)
}

// itemFrom returns the message of a URL: a known one, as the reference has it, also for one that
// was only discovered.
func itemFrom(i book.Item, key, crawl string) (*pb.URLItem, error) {
	info, err := infoFrom(i.URL, key, crawl, i.Meta)
	if err != nil {
		return nil, err
	}
	known := &pb.KnownURLItem{Info: info, RefetchableFromDate: i.Date}
	return &pb.URLItem{Item: &pb.URLItem_Known{Known: known}, CreationDate: i.Created}, nil
}

// A filter is what URLs are to contain.
type filter struct {
	text   string
	ignore bool // case
}

func newFilter(text string, ignoreCase bool) filter {
	if ignoreCase {
		text = strings.ToLower(text)
	}
	return filter{text, ignoreCase}
}

func (f filter) fits(url string) bool {
	if f.text == "" {
		return true
	}
	if f.ignore {
		url = strings.ToLower(url)
	}
	return strings.Contains(url, f.text)
}

// ListURLs implements the interface. It sends what there is when it comes to it,
// and of a queue that was deleted meanwhile nothing more.
func (s *Server) ListURLs(p *pb.ListUrlParams, stream grpc.ServerStreamingServer[pb.URLItem]) error {
	if err := checkNames(p); err != nil {
		return err
	}
	size, skip := int(p.GetSize()), int(p.GetStart())
	if size == 0 {
		size = defaultPage
	}
	f := newFilter(p.GetFilter(), p.GetIgnoreCase())
	crawl := crawlName(p.GetCrawlID())
	var all []*book.Queue
	if err := s.view(func(state *book.State, _ float64) {
		for q := range queues(state, crawl, p.GetKey()) {
			all = append(all, q)
		}
	}); err != nil {
		return err
	}
	for _, q := range all {
		for from, more := 0, true; more && size > 0; {
			var items []book.Item
			if err := s.view(func(*book.State, float64) {
				if more = !q.Gone(); !more {
					return
				}
				to := min(from+stride, q.Len())
				for ; from < to && len(items) < size; from++ {
					item := q.Item(uint32(from))
					switch {
					case !f.fits(item.URL):
					case skip > 0:
						skip--
					default:
						items = append(items, item)
					}
				}
				more = from < q.Len()
			}); err != nil {
				return err
			}
			for _, i := range items {
				item, err := itemFrom(i, q.Key(), crawl)
				if err != nil {
					return err
				}
				if err := stream.Send(item); err != nil {
					return err
				}
			}
			size -= len(items)
		}
	}
	return nil
}

// CountURLs implements the interface. Like ListURLs, it counts what there is when it comes to it.
func (s *Server) CountURLs(_ context.Context, p *pb.CountUrlParams) (*pb.Long, error) {
	f := newFilter(p.GetFilter(), p.GetIgnoreCase())
	count := 0
	err := s.inStrides(crawlName(p.GetCrawlID()), p.GetKey(), func(q *book.Queue, from, most int, _ float64) int {
		if f.text == "" {
			count += q.Len()
			return q.Len()
		}
		to := min(from+most, q.Len())
		for ; from < to; from++ {
			if f.fits(q.Item(uint32(from)).URL) {
				count++
			}
		}
		return to
	})
	return &pb.Long{Value: uint64(count)}, err
}

// inStrides calls a function with the queues of a crawl, or one of them, as often as it takes: with
// the first URL of a queue to look at, how many there may be, and the time. It returns the next URL.
// Others have their turn between strides.
func (s *Server) inStrides(crawl, key string, look func(q *book.Queue, from, most int, now float64) (next int)) error {
	var all []*book.Queue
	if err := s.view(func(state *book.State, _ float64) {
		all = slices.Collect(queues(state, crawl, key))
	}); err != nil {
		return err
	}
	for from := 0; len(all) > 0; {
		if err := s.view(func(_ *book.State, now float64) {
			for left := stride; left > 0 && len(all) > 0; {
				q := all[0]
				before := from
				if !q.Gone() {
					from = look(q, from, left, now)
				}
				left -= max(1, min(from-before, left))
				if q.Gone() || from >= q.Len() {
					all, from = all[1:], 0
				}
			}
		}); err != nil {
			return err
		}
	}
	return nil
}
