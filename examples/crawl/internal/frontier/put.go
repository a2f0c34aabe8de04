package frontier

import (
	"errors"
	"io"
	"log/slog"
	"net/url"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/recrawl/recrawl/examples/crawl/internal/frontier/book"
	pb "github.com/recrawl/recrawl/examples/crawl/internal/frontier/urlfrontierpb"
)

const (
	// inFlight is how many acknowledgements of a stream may wait for the log, or for the client to read
	// them, and inFlightBytes what they may take. Beyond that the client waits, too.
	inFlight      = 4096
	inFlightBytes = 8 << 20
	// receiptBytes is what a receipt takes, about.
	receiptBytes = 32
)

// A receipt is what was done to a URL: the acknowledgement, once the pack is logged.
type receipt struct {
	status pb.AckMessage_Status
	pack   *pack
}

// settle returns the acknowledgement. The log's failure is one that the client should try again
// after.
func (r receipt) settle() pb.AckMessage_Status {
	if r.pack == nil || r.pack.Wait() != nil {
		return pb.AckMessage_FAIL
	}
	return r.status
}

// PutURLs implements the interface.
func (s *Server) PutURLs(stream grpc.BidiStreamingServer[pb.URLItem, pb.AckMessage]) error {
	type ack struct {
		id string
		receipt
	}
	return answer(stream, func(item *pb.URLItem) (ack, error) {
		id := item.GetID()
		if id == "" {
			id = infoOf(item).GetUrl()
		}
		return ack{id, s.put(item)}, nil
	}, func(a ack) int {
		return len(a.id) + receiptBytes
	}, func(a ack) *pb.AckMessage {
		return &pb.AckMessage{ID: a.id, Status: a.settle()}
	})
}

// PutDiscovered implements the interface.
func (s *Server) PutDiscovered(stream grpc.BidiStreamingServer[pb.DiscoveredBatch, pb.BatchAck]) error {
	type acks struct {
		id string
		of []receipt
	}
	return answer(stream, func(batch *pb.DiscoveredBatch) (acks, error) {
		a := acks{id: batch.GetID()}
		if n := len(batch.GetItems()); n > mostURLs {
			return a, status.Errorf(codes.InvalidArgument, "a batch has %d URLs: want %d at most", n, mostURLs)
		}
		for _, info := range batch.GetItems() {
			a.of = append(a.of, s.put(&pb.URLItem{Item: &pb.URLItem_Discovered{Discovered: &pb.DiscoveredURLItem{Info: info}}}))
		}
		return a, nil
	}, func(a acks) int {
		return len(a.id) + receiptBytes*len(a.of)
	}, func(a acks) *pb.BatchAck {
		answer := &pb.BatchAck{ID: a.id}
		for _, r := range a.of {
			answer.Statuses = append(answer.Statuses, r.settle())
		}
		return answer
	})
}

// answer takes in the messages of a stream, and sends an answer for each, in order, once it is
// there. It ends with the first one that cannot be taken. Size returns the bytes of a receipt.
func answer[In, Out, Receipt any](stream grpc.BidiStreamingServer[In, Out], take func(*In) (Receipt, error), size func(Receipt) int, settle func(Receipt) *Out) error {
	receipts := make(chan Receipt, inFlight)
	sent := make(chan error, 1)
	var mu sync.Mutex
	fewer := sync.NewCond(&mu)
	bytes := 0 // of the receipts
	count := func(change int) {
		mu.Lock()
		defer mu.Unlock()
		bytes += change
		fewer.Signal()
	}
	go func() {
		var err error
		for r := range receipts {
			if a := settle(r); err == nil { // else the client is gone, but not what it put
				err = stream.Send(a)
			}
			count(-size(r))
		}
		sent <- err
	}()
	var failed error
	for failed == nil {
		mu.Lock()
		for bytes > inFlightBytes {
			fewer.Wait()
		}
		mu.Unlock()
		var in *In
		if in, failed = stream.Recv(); failed != nil {
			break
		}
		var r Receipt
		if r, failed = take(in); failed == nil {
			count(size(r))
			receipts <- r
		}
	}
	close(receipts)
	err := <-sent
	if errors.Is(failed, io.EOF) {
		return err
	}
	return failed
}

func infoOf(item *pb.URLItem) *pb.URLInfo {
	if known := item.GetKnown(); known != nil {
		return known.GetInfo()
	}
	return item.GetDiscovered().GetInfo()
}

// put takes in a URL.
func (s *Server) put(item *pb.URLItem) receipt {
	e, signs, err := s.read(item)
	if err != nil {
		slog.Debug("a URL is not taken", "url", infoOf(item).GetUrl(), "error", err)
		return receipt{pb.AckMessage_SKIPPED, nothing}
	}
	known := false
	p, err := s.journal.Do(func(state *book.State, now float64) ([]book.Event, error) {
		if e.Kind == book.Discovered {
			if _, _, known = state.Find(e.Crawl, e.Key, e.URL); known {
				return nil, nil
			}
		} else {
			e.Verdict, e.Mark = state.Compare(e.Crawl, e.Key, e.URL, signs)
			e.Free = s.cfg.IgnoreDates && e.Verdict != book.Unknown && e.Verdict != book.Failed
		}
		e.At = now
		_, err := state.Apply(&e)
		return []book.Event{e}, err
	})
	switch {
	case err != nil:
		return receipt{}
	case known && s.cfg.SkipKnown:
		return receipt{pb.AckMessage_SKIPPED, p}
	}
	return receipt{pb.AckMessage_OK, p}
}

// errURL says why a URL is not taken. It never will be.
var (
	errEmpty    = errors.New("it has no URL")
	errTooLong  = errors.New("the URL is too long")
	errHost     = errors.New("it has no key, and its URL no host")
	errKey      = errors.New("the key is too long")
	errMetadata = errors.New("there is too much metadata")
)

// read returns the event of a URL, and what its metadata says.
func (s *Server) read(item *pb.URLItem) (e book.Event, signs book.Signs, err error) {
	info := infoOf(item)
	e = book.Event{Kind: book.Discovered, Crawl: crawlName(info.GetCrawlID()), Key: info.GetKey(), URL: info.GetUrl()}
	if known := item.GetKnown(); known != nil {
		e.Kind, e.Date = book.Known, known.GetRefetchableFromDate()
		e.Lag = s.lag(e.Date)
		signs = s.cfg.Keys.Read(func(key string) string {
			if v := info.GetMetadata()[key].GetValues(); len(v) > 0 {
				return v[0]
			}
			return ""
		})
	}
	if e.Key == "" {
		e.Key = hostOf(e.URL)
	}
	switch {
	case e.URL == "":
		return e, signs, errEmpty
	case len(e.URL) > longestURL:
		return e, signs, errTooLong
	case e.Key == "":
		return e, signs, errHost
	case len(e.Key) > longestKey || len(e.Crawl) > longestKey:
		return e, signs, errKey
	}
	if len(info.GetMetadata()) > 0 {
		meta, err := proto.Marshal(&pb.URLInfo{Metadata: info.GetMetadata()})
		if err != nil || len(meta) > longestMeta {
			return e, signs, errMetadata
		}
		e.Meta = string(meta)
	}
	return e, signs, nil
}

// hostOf returns the name of a URL's host in small letters, without its port; empty if it has none.
// It is not particular about the rest, as crawlers have other rules of what a URL is.
func hostOf(raw string) string {
	if u, err := url.Parse(raw); err == nil {
		return strings.ToLower(u.Hostname())
	}
	_, rest, ok := strings.Cut(raw, "://")
	if !ok {
		return ""
	}
	host := rest[:min(len(rest), strings.IndexAny(rest+"/", "/?#"))]
	host = host[strings.LastIndexByte(host, '@')+1:]
	if name, _, ok := strings.Cut(host, ":"); ok && !strings.HasPrefix(host, "[") {
		host = name
	}
	if strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' }) {
		return ""
	}
	return strings.ToLower(host)
}

// infoFrom returns the message of a URL.
func infoFrom(url, key, crawl, meta string) (*pb.URLInfo, error) {
	info := &pb.URLInfo{}
	if err := proto.Unmarshal([]byte(meta), info); err != nil {
		return nil, err
	}
	info.Url, info.Key, info.CrawlID = url, key, crawl
	return info, nil
}
