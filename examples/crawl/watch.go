package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/crawler"
	"github.com/recrawl/recrawl/examples/crawl/internal/input"
	"github.com/recrawl/recrawl/examples/crawl/internal/page"
	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
	"github.com/recrawl/recrawl/examples/crawl/internal/sink"
	"github.com/recrawl/recrawl/knapsack"
)

const (
	shownHosts = 12
	// rateMemory is the weight of the second before in rates per second.
	rateMemory = 0.8
	day        = 86400.
)

// A watcher tells the live page how a crawl goes.
type watcher struct {
	crawler   *crawler.Crawler
	clock     clock.Clock
	objective knapsack.Objective
	began     time.Time
	sinks     *sink.Sinks // nil for none
	// truth, if not nil, adds what is known of a web of known truth.
	truth func(*page.Status)

	mu     sync.Mutex
	last   counts     // at the last status
	rates  [2]float64 // polls and changes a second of the crawl's time
	latest time.Time  // of the crawl, at the last status
	uptime float64    // likewise
}

// counts are the polls and changes of the shards that are here, since they were begun.
type counts map[*shard.Loop][2]uint64

// outlook is what is expected of a shard.
type outlook struct{ detections, freshness, pages float64 }

// Status implements [page.Crawl].
func (w *watcher) Status(ctx context.Context) (page.Status, error) {
	s := page.Status{Time: w.clock.Now(), Uptime: time.Since(w.began).Seconds(), Unit: "in " + w.objective.String()}
	hosts := []page.Host{} // also where there is none, as before the first page is known
	factors := []float64{0.5, 1, 2}
	outlooks := make([]outlook, len(factors))
	shards, made := 0.0, counts{}
	err := w.crawler.Each(ctx, func(l *shard.Loop, st *shard.State) {
		shards++
		s.Pages += st.Len()
		s.Waiting += st.Count(shard.Waiting)
		s.Barred += st.Count(shard.Barred)
		s.Gone += st.Count(shard.Ended)
		s.Polls += st.Polls
		s.Learnt += st.Learnt
		s.Changes += st.Changes
		s.First += st.First
		s.Failures += st.Failures
		s.Vetoes += st.Vetoes
		s.Bytes += st.Bytes
		made[l] = [2]uint64{st.Learnt + st.First + st.Failures + st.Vetoes, st.Changes}
		s.InFlight += l.InFlight()
		s.Budget += l.Rate()
		price, _ := crawler.Price(st)
		s.Price += price
		hosts = append(hosts, troubled(st, shownHosts)...)
		s.AllHosts += st.CountHosts()
		for i, f := range factors {
			outlooks[i].add(st, l.Rate()*f)
		}
	})
	if err != nil {
		return s, err
	}
	m := w.crawler.Made()
	s.Made = page.Made{Unchanged: m.Learnt - m.Changes, Changed: m.Changes, First: m.First, Failures: m.Failures, Vetoes: m.Vetoes, Bytes: m.Bytes}
	if w.sinks != nil {
		s.Unkept = w.sinks.Failures()
	}
	s.Price /= max(shards, 1)
	s.Hosts = worst(hosts, shownHosts)
	for i, f := range factors {
		if o := outlooks[i]; o.pages > 0 && s.Budget > 0 {
			s.WhatIf = append(s.WhatIf, page.WhatIf{
				Budget: []string{"half", "this", "twice"}[i], Polls: s.Budget * f * day,
				Detections: o.detections * day, Freshness: o.freshness / o.pages,
			})
			if f == 1 {
				s.Freshness = o.freshness / o.pages
			}
		}
	}
	loads, moves := w.crawler.Fleet.Loads()
	s.Moves = moves
	for _, l := range loads {
		s.Workers = append(s.Workers, page.Workers{Hosts: l.Hosts, Workers: l.Workers, Busy: l.Busy, Queue: l.Queue})
	}
	names, at := w.crawler.Fetcher.Loads()
	for i := range names {
		s.Points = append(s.Points, page.Point{Name: names[i], Hosts: at[i]})
	}
	if w.truth != nil {
		w.truth(&s)
	}
	w.rate(&s, made)
	return s, nil
}

// add adds what a shard would reach with a budget.
func (o *outlook) add(st *shard.State, polls float64) {
	_ = knapsack.With(st.Learner, func(f *knapsack.RateFilter, _ func(string) (int, error)) error {
		n := float64(f.Len())
		detections, err := f.WhatIf(knapsack.Detections, polls)
		if err != nil {
			return nil // nothing is known yet
		}
		freshness, err := f.WhatIf(knapsack.Freshness, polls)
		if err != nil {
			return nil
		}
		o.detections += detections * n
		o.freshness += freshness * n
		o.pages += n
		return nil
	})
}

// rate fills in what happened a second of late. Others ask for a status, too, so that it goes by
// the time since the one before. What a shard of a cluster brings or takes away when it moves did not happen here.
func (w *watcher) rate(s *page.Status, made counts) {
	w.mu.Lock()
	defer w.mu.Unlock()
	elapsed := s.Time.Sub(w.latest).Seconds()
	if !w.latest.IsZero() && elapsed > 0 {
		keep := math.Pow(rateMemory, min(s.Uptime-w.uptime, 10))
		for i := range w.rates {
			more := 0.0
			for l, now := range made {
				if before, ok := w.last[l]; ok && now[i] > before[i] { // or that was asked for later
					more += float64(now[i] - before[i])
				}
			}
			w.rates[i] = keep*w.rates[i] + (1-keep)*more/elapsed
		}
	}
	w.latest, w.uptime, w.last = s.Time, s.Uptime, made
	s.PollsRate, s.ChangesRate = w.rates[0], w.rates[1]
	if s.Budget > 0 {
		s.Spent = s.PollsRate / s.Budget
	}
}

// troubled returns the hosts of a shard with the most failures and vetoes.
func troubled(st *shard.State, most int) (hosts []page.Host) {
	for h := range st.Hosts() {
		if len(hosts) == 4*most {
			hosts = worst(hosts, most)
		}
		hosts = append(hosts, page.Host{
			Name: h.Name, Pages: h.Pages, Polls: h.Polls, Changes: h.Changes, Failures: h.Failures, Vetoes: h.Vetoes,
			Delay: h.Delay, Paused: h.Paused,
		})
	}
	return worst(hosts, most)
}

func worst(hosts []page.Host, most int) []page.Host {
	trouble := func(h page.Host) uint64 {
		if h.Paused {
			return math.MaxUint64
		}
		return h.Failures + h.Vetoes
	}
	slices.SortFunc(hosts, func(a, b page.Host) int {
		return cmp.Or(cmp.Compare(trouble(b), trouble(a)), cmp.Compare(b.Polls, a.Polls), strings.Compare(a.Name, b.Name))
	})
	return hosts[:min(len(hosts), most)]
}

// Search implements [page.Crawl]. A URL may be spelt in any way, and so may small and capital letters: a telephone
// begins with a capital.
func (w *watcher) Search(ctx context.Context, text string, most int) (urls []string, err error) {
	text, urls = strings.TrimSpace(text), []string{}
	page, part := input.Clean(text)
	if part != nil { // of a URL
		page = text
	}
	text = strings.ToLower(text)
	exact := false
	err = w.crawler.Each(ctx, func(_ *shard.Loop, st *shard.State) {
		if st.Page(page) != nil {
			urls, exact = []string{page}, true
		}
		for p := range st.All() {
			if len(urls) >= most || exact {
				return
			}
			if strings.Contains(strings.ToLower(p.URL), text) {
				urls = append(urls, p.URL)
			}
		}
	})
	if err == nil && len(urls) == 0 && part == nil {
		_, err = w.crawler.Of(shard.HostOf(page)) // of a page of another node it is not known whether there is one
	}
	slices.Sort(urls)
	return urls, err
}

// Detail implements [page.Crawl].
func (w *watcher) Detail(ctx context.Context, url string) (d page.Detail, ok bool, err error) {
	now := w.clock.Now()
	loop, err := w.crawler.Of(shard.HostOf(url))
	if err != nil {
		return d, false, err
	}
	err = loop.Do(ctx, func(st *shard.State) {
		p := st.Page(url)
		if ok = p != nil; !ok {
			return
		}
		d = page.Detail{URL: url, State: p.Stage.String(), Host: p.Host.Name}
		tried := p.Stage == shard.Crawled && p.Copy() == nil
		if tried {
			d.State = "no poll has brought a copy of it yet"
		}
		for _, m := range slices.Backward(p.History()) {
			d.History = append(d.History, page.Visit{Time: m.At, Result: m.Result.String()})
		}
		d.Due, _ = st.Learner.Due(url) // unknown where the learner does not say
		_ = knapsack.With(st.Learner, func(f *knapsack.RateFilter, idOf func(string) (int, error)) error {
			id, err := idOf(url)
			if err != nil {
				return nil // it is not with the learner
			}
			d.Worth, _ = f.Index(id, float64(now.UnixNano())/1e9)
			if r, err := f.Rate(id); err == nil && r.Median > 0 && !tried { // or it would be that of any page
				d.Rate = &page.Rate{Low: r.Low * day, Median: r.Median * day, High: r.High * day}
			}
			return nil
		})
	})
	return d, ok, err
}

// PollNow implements [page.Crawl].
func (w *watcher) PollNow(ctx context.Context, url string) error {
	loop, err := w.crawler.Of(shard.HostOf(url))
	if err != nil {
		return err
	}
	return loop.PollNow(ctx, url)
}

// Pause implements [page.Crawl].
func (w *watcher) Pause(ctx context.Context, host string, on bool) error {
	known := false
	loop, err := w.crawler.Of(host)
	if err != nil {
		return err
	}
	if err := loop.Do(ctx, func(st *shard.State) { known = st.Host(host) != nil }); err != nil {
		return err
	}
	if !known {
		return fmt.Errorf("unknown host %q", host)
	}
	loop.Tell(ctx, shard.Event{Kind: shard.Pause, URL: host, At: w.clock.Now(), On: on})
	return nil
}

// show opens the live page and says where it is.
func (s *settings) show(w *watcher) (stop func(), err error) {
	if s.page == "" {
		return func() {}, nil
	}
	server, err := page.Listen(s.page, w)
	busy := ""
	if errors.Is(err, syscall.EADDRINUSE) && !s.Given("page") { // another crawl has it
		busy = fmt.Sprintf(", as %s is in use", s.page)
		server, err = page.Listen("127.0.0.1:0", w)
	}
	if err != nil {
		return nil, err
	}
	note := "for this machine only"
	if !server.Local() {
		note = "for everybody who can reach this machine: anyone there may pause hosts and ask for polls"
	}
	fmt.Fprintf(s.Stderr, "crawl: live page at %s%s, %s\n", server.URL(), busy, note)
	return server.Close, nil
}
