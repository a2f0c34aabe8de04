package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/crawler"
	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
	"github.com/recrawl/recrawl/knapsack"
)

const (
	ahead        = time.Hour // what -dry-run looks at
	forecastRows = 100       // that it prints for each shard
)

// forecast prints what would be polled in the next hour, and why. It lets copies of the learners
// decide, to which no poll finds a change. Nothing is written but what an embedded server keeps for
// itself. Nodes of a cluster go on.
func (n *session) forecast(ctx context.Context) error {
	n.inputs = newInputs(n)
	for i := range n.engine.Shards() {
		state, err := crawler.Seen(ctx, n.engine, i, knapsack.RateFilterConfig{Objective: n.objective})
		if err != nil {
			return err
		}
		n.clock.NotBefore(state.Latest)
		n.open[i] = opened{state: state}
	}
	points, err := n.points()
	if err != nil {
		return err
	}
	if n.crawler, err = crawler.New(crawler.Config{
		Shards: n.engine.Shards(), Clock: n.clock, Groups: 1, Workers: 1,
		Fetch: fetch.Config{UserAgent: n.userAgent, Points: points, Delay: n.delay, Timeout: n.timeout, Seed: n.Seed}, // for the sources
	}); err != nil {
		return err
	}
	for i, o := range n.open {
		n.crawler.Open(i, crawler.Part{State: o.state}, 0)
	}
	if err := n.inputs.begin(ctx, true); err != nil {
		return err
	}
	out := tabwriter.NewWriter(n.Stdout, 0, 0, 2, ' ', 0)
	for i := range n.engine.Shards() {
		s := n.open[i].state
		fmt.Fprintf(out, "shard %d: pages %d, waiting for a first copy %d, forbidden by robots.txt %d\n", i, s.Len(), s.Count(shard.Waiting), s.Count(shard.Barred))
		fmt.Fprintln(out, "in\tpage\twhy")
		if err := n.walk(ctx, s, n.clock.Now(), float64(n.engine.Shards()), out); err != nil {
			return err
		}
	}
	return out.Flush()
}

// copies prints the first copies of an hour, and returns how many there are. Shards do not say in which
// order they make them.
func (s *settings) copies(st *shard.State, begin time.Time, budget float64, out *tabwriter.Writer) (made float64) {
	var urls []string
	for p := range st.All() {
		if _, rests := p.Host.Rests(begin); p.Stage == shard.Waiting && !rests {
			urls = append(urls, p.URL)
		}
	}
	if st.Learner.Len() > 0 {
		budget *= shard.CopyShare
	}
	made = min(float64(len(urls)), math.Ceil(budget))
	if len(urls) == 0 {
		return 0
	}
	slices.Sort(urls)
	const why = "there is no copy of it yet"
	if int(made) < len(urls) {
		fmt.Fprintf(out, "this hour\t%d of %d new pages\t%s\n", int(made), len(urls), why)
		return made
	}
	for _, url := range urls[:min(len(urls), forecastRows)] {
		fmt.Fprintf(out, "this hour\t%s\t%s\n", url, why)
	}
	if more := len(urls) - forecastRows; more > 0 {
		fmt.Fprintf(out, "…\t%d more\t%s\n", more, why)
	}
	return made
}

// walk spends an hour's budget, which may be millions of polls, unless the context ends.
func (s *settings) walk(ctx context.Context, st *shard.State, begin time.Time, shards float64, out *tabwriter.Writer) error {
	budget := s.perDay / shards * ahead.Hours() / 24
	made := s.copies(st, begin, budget, out)
	if made > 0 && st.Learner.Len() == 0 {
		return nil
	}
	interval := time.Duration(min(float64(ahead)/max(budget-made, 1e-3), float64(ahead)))
	rows := 0
	for now := begin; now.Before(begin.Add(ahead)); now = now.Add(interval) {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		url, err := st.Learner.Next(now)
		if errors.Is(err, knapsack.ErrNoPage) {
			continue
		}
		if err != nil {
			return err
		}
		if rows++; rows <= forecastRows {
			fmt.Fprintf(out, "%v\t%s\t%s\n", now.Sub(begin).Round(time.Second), url, reason(st, url, now))
		}
		if err := st.Learner.Observe(url, now, false); err != nil {
			return err
		}
	}
	if rows > forecastRows {
		fmt.Fprintf(out, "…\t%d more\t\n", rows-forecastRows)
	}
	if rows == 0 && made == 0 {
		fmt.Fprintln(out, "-\tnone\tno page may be polled yet")
	}
	return nil
}

// reason says why a page is polled.
func reason(st *shard.State, url string, now time.Time) (why string) {
	err := knapsack.With(st.Learner, func(f *knapsack.RateFilter, page func(string) (int, error)) error {
		id, err := page(url)
		if err != nil {
			return err
		}
		rate, err := f.Rate(id)
		if err != nil {
			return err
		}
		worth, err := f.Index(id, float64(now.UnixNano())/1e9)
		if rate.Median == 0 {
			why = "too little is known yet to say how often it changes"
			return err
		}
		why = fmt.Sprintf("changes every %s (%s to %s), worth %.3g at a price of %.3g",
			every(rate.Median), every(rate.High), every(rate.Low), worth, f.Price())
		return err
	})
	if err != nil {
		return err.Error()
	}
	if h := st.Page(url).History(); len(h) > 0 {
		last := h[len(h)-1]
		why += fmt.Sprintf("; last poll %v ago: %s", now.Sub(last.At).Round(time.Second), last.Result)
	}
	return why
}

// every writes the mean time from one change to the next of a rate in changes per second.
func every(rate float64) string {
	switch seconds := 1 / rate; {
	case seconds < 120:
		return fmt.Sprintf("%.0f s", seconds)
	case seconds < 7200:
		return fmt.Sprintf("%.0f min", seconds/60)
	case seconds < 172800:
		return fmt.Sprintf("%.1f h", seconds/3600)
	case seconds < 1e9:
		return fmt.Sprintf("%.1f days", seconds/86400)
	}
	return "never"
}
