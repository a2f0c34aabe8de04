package main

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/crawler"
	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/examples/crawl/internal/page"
	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
	"github.com/recrawl/recrawl/knapsack"
)

var scaleURLs = flag.Int("scale", 0, "number of URLs of TestScale, which is skipped without")

// copySize is the size of what is remembered of a page's copy, as most pages have it that are
// compared byte by byte.
const copySize = 230

// heap returns the bytes in use.
func heap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// cpu returns the time that processors have worked for this process.
func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // cannot fail
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// Many URLs in one process: how long it takes to start, what a URL takes all in, and how many polls
// a second go through log and learner, with a live page, beside the learner alone. A poll is
// answered at once, so that what is measured is the crawler and not the web.
//
//	go test ./examples/crawl -run TestScale -v -scale 1000000 -timeout 1h
func TestScale(t *testing.T) {
	n := *scaleURLs
	if n == 0 {
		t.Skip("a measurement, made with -scale")
	}
	const hosts = 10_000
	dir := t.TempDir()
	ctx := t.Context()
	open := func() (*engine.Engine, crawler.Part) {
		e, err := engine.Open(ctx, engine.Config{Dir: dir, Log: slog.New(slog.DiscardHandler)})
		require.NoError(t, err)
		state, log, err := crawler.Restored(ctx, e, 0, knapsack.RateFilterConfig{})
		require.NoError(t, err)
		return e, crawler.Part{State: state, Log: log}
	}
	before := heap()
	e, part := open()
	url := func(i int) string { return fmt.Sprintf("https://host%d.example.org/a/folder/page-%d.html", i%hosts, i) }
	began := time.Now()
	events := make([]shard.Event, 0, 2*n)
	now := time.Now()
	for i := range n {
		copied := make([]byte, copySize)
		copied[0] = byte(i)
		events = append(events, shard.Event{Kind: shard.Add, URL: url(i), At: now},
			shard.Event{Kind: shard.Polled, URL: url(i), At: now, Result: shard.First, Copy: copied})
	}
	var polls int
	var loop *shard.Loop
	answers := make(chan shard.Event, 1<<16)
	done := make(chan struct{})
	seconds := clock.NewFast(now.Add(time.Hour), 1)
	log := &markedLog{Log: part.Log}
	loop = shard.NewLoop(shard.Config{
		State: part.State, Log: log, Clock: seconds, PerSecond: 1e6, Window: 4096, Stop: done,
		Submit: func(j shard.Job) {
			polls++
			r := shard.Unchanged
			if polls%4 == 0 {
				r = shard.Changed
			}
			answers <- shard.Event{Kind: shard.Polled, URL: j.URL, ID: j.ID, At: seconds.Now(), Result: r, Status: 200, Bytes: 1000}
		},
	})
	require.NoError(t, loop.Learn(ctx, events))
	events = nil
	t.Logf("%d URLs added and logged in %.1f s", n, time.Since(began).Seconds())
	inUse := heap() - before
	t.Logf("memory: %.0f bytes a URL all in, of which %d are what is remembered of its copy and %d its URL", float64(inUse)/float64(n), copySize, len(url(n-1)))

	running, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for {
			select {
			case a := <-answers:
				loop.Tell(running, a)
			case <-running.Done():
				return
			}
		}
	}()
	watch := &scaleWatch{loop: loop}
	server, err := page.Listen("127.0.0.1:0", watch)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- loop.Run(ctx) }()
	learntSoFar := func() (made int) {
		require.NoError(t, loop.Do(ctx, func(s *shard.State) { made = int(s.Learnt) }))
		return made
	}
	for learntSoFar() < 10_000 { // until the learner knows the time scale, and the first snapshot is made
		time.Sleep(100 * time.Millisecond)
	}
	const length = 20 * time.Second
	made, used := learntSoFar(), cpu()
	began = time.Now()
	time.Sleep(length)
	made = learntSoFar() - made
	t.Logf("%.0f polls a second through loop, log and learner, with the live page; %.0f in a second of a processor",
		float64(made)/time.Since(began).Seconds(), float64(made)/(cpu()-used).Seconds())
	server.Close()
	close(done)
	require.NoError(t, <-ended)
	require.EqualValues(t, log.Mark(), log.saved.Load(), "the snapshot of the end was not made")
	cancel()
	learnt := part.State.Learnt
	e.Close()

	began = time.Now()
	e, part = open()
	defer e.Close()
	t.Logf("started again in %.2f s", time.Since(began).Seconds())
	require.Equal(t, learnt, part.State.Learnt)
	require.Equal(t, n, part.State.Len())

	began, made, used = time.Now(), 0, cpu()
	at := now.Add(2 * time.Hour)
	for ; time.Since(began) < length; made++ {
		at = at.Add(time.Microsecond)
		key, err := part.State.Learner.Next(at)
		require.NoError(t, err)
		require.NoError(t, part.State.Learner.Observe(key, at, made%4 == 0))
	}
	t.Logf("%.0f polls a second of the learner alone; %.0f in a second of a processor",
		float64(made)/time.Since(began).Seconds(), float64(made)/(cpu()-used).Seconds())
}

// markedLog knows which snapshot is the latest that was made.
type markedLog struct {
	shard.Log
	saved atomic.Uint64 // an engine.Mark
}

func (l *markedLog) Snapshot(ctx context.Context, at engine.Mark, state []byte) error {
	err := l.Log.Snapshot(ctx, at, state)
	if err == nil {
		l.saved.Store(uint64(at))
	}
	return err
}

// scaleWatch is as much of a crawl as the live page needs.
type scaleWatch struct {
	page.Crawl
	loop *shard.Loop
}

func (w *scaleWatch) Status(ctx context.Context) (s page.Status, err error) {
	err = w.loop.Do(ctx, func(st *shard.State) {
		s.Pages, s.Polls, s.Changes = st.Len(), st.Polls, st.Changes
		s.Hosts = troubled(st, shownHosts)
		var o outlook
		o.add(st, 1)
	})
	return s, err
}
