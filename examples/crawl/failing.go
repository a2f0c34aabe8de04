package main

import (
	"fmt"
	"log/slog"
	"sync"

	"github.com/recrawl/recrawl/examples/crawl/internal/shard"
)

// failingAfter is the number of failures in a row after which a host that answered before is one that
// fails: single pages may be gone.
const failingAfter = 3

// A host that fails and answers by turns is to say less and less: each time that it answers again it takes twice as
// many failures in a row to be one that fails, up to mostDoublings times, until it answers calmAfter times in a row.
const mostDoublings, calmAfter = 6, 100

// reasonRunes is what is told of why a poll failed: a host may have it quote a header of any length.
const reasonRunes = 300

// failures says which hosts fail and when they are back, and counts what polls came to. It is safe for
// concurrent use.
type failures struct {
	mu      sync.Mutex
	hosts   map[string]*streak
	results map[shard.Result]int
}

// A streak is a host's latest failures.
type streak struct {
	failed, answers int // in a row
	back            int // how often it answered again
	answered, told  bool
}

func newFailures() *failures {
	return &failures{hosts: map[string]*streak{}, results: map[shard.Result]int{}}
}

// count takes note of what a poll came to.
func (f *failures) count(e *shard.Event) {
	if e.Kind != shard.Polled {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.results[e.Result]++
	name := shard.HostOf(e.URL)
	h := f.hosts[name]
	if h == nil {
		h = &streak{}
		f.hosts[name] = h
	}
	switch {
	case e.Result == shard.Forbidden:
		slog.Info("robots.txt forbids a page: it is not asked for", "page", e.URL)
	case e.Result <= shard.First:
		if h.told {
			slog.Info("a host answers again", "host", name, "failures", h.failed)
		}
		back := h.back
		switch {
		case h.told:
			back = min(back+1, mostDoublings)
		case h.answers >= calmAfter:
			back = 0
		}
		*h = streak{answered: true, answers: h.answers + 1, back: back}
	case e.Result != shard.Gone:
		h.failed++
		h.answers = 0
		if !h.told && (h.failed >= failingAfter<<h.back || !h.answered) {
			h.told = true
			slog.Warn("polls of a host fail; it is told when one does not", "host", name, "page", e.URL, "result", e.Result, "error", fmt.Sprintf("%.*v", reasonRunes, e.Reason))
		}
	}
}

// forget forgets a host of which no page is crawled any more.
func (f *failures) forget(host string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.hosts, host)
}

// tell says what the polls came to in all.
func (f *failures) tell() {
	f.mu.Lock()
	defer f.mu.Unlock()
	failing := 0
	for _, h := range f.hosts {
		if h.told {
			failing++
		}
	}
	r := f.results
	answered := r[shard.Unchanged] + r[shard.Changed] + r[shard.First]
	failed := r[shard.Failed] + r[shard.Vetoed] + r[shard.Gone] + r[shard.Forbidden]
	level := slog.Info
	if answered == 0 && failed > 0 {
		level = slog.Warn
	}
	level("polls of this run", "answered", answered, "changed", r[shard.Changed], "failed", r[shard.Failed], "vetoed", r[shard.Vetoed],
		"gone", r[shard.Gone], "forbidden", r[shard.Forbidden], "hosts that fail", failing)
}
