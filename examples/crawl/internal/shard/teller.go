package shard

import (
	"encoding/binary"
	"errors"
	"math"
	"time"

	"github.com/recrawl/recrawl/knapsack"
)

// A teller is a learner that may be told of a poll of a page that it does not wait for: one of
// before a restart, or one that a user asked for.
type teller struct {
	*knapsack.Keyed[string]
	state *State
	page  *Page
	event *Event
}

// Observe tells of an answer. One that the learner does not wait for ends what putOff did: the page has not failed since.
func (t teller) Observe(key string, now time.Time, changed bool) error {
	err := t.Keyed.Observe(key, now, changed)
	if errors.Is(err, knapsack.ErrNotAsked) {
		if err = t.Record(key, now, changed); err == nil {
			err = t.Defer(key, time.Time{})
		}
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// GiveBack tells of a failure, or of a first copy. The learner takes none that it does not wait for, and so the page
// is put off for as long as the learner would have done.
func (t teller) GiveBack(key string, now time.Time) error {
	err := t.Keyed.GiveBack(key, now)
	if !errors.Is(err, knapsack.ErrNotAsked) {
		return err
	}
	return t.state.putOff(t.page, now, t.event.Until)
}

// putOff puts a page off that failed at a time, or whose first copy came then, at least until another time. To the
// learner a first copy is no answer, so that the intervals would not count from it.
func (s *State) putOff(p *Page, at, least time.Time) error {
	return s.filter(func(f *knapsack.RateFilter, page func(string) (int, error)) error {
		wait := 0.0
		if stats := f.Stats(); stats.Budget > 0 {
			wait = p.patience(float64(stats.Pages) / stats.Budget)
		}
		if p.firstCopy() {
			if wait = max(wait, p.shortest); p.longest > 0 {
				wait = min(wait, p.longest)
			}
		}
		id, err := page(p.URL)
		if err != nil || wait == 0 && !p.firstCopy() {
			return err
		}
		until := math.Inf(-1)
		if wait > 0 {
			until = seconds(at) + wait
		}
		if !least.IsZero() {
			until = max(until, seconds(least))
		}
		return f.Defer(id, until)
	})
}

// firstCopy reports whether the latest poll of a page brought a first copy.
func (p *Page) firstCopy() bool {
	n := len(p.history)
	return n > 0 && Result(p.history[n-1]) == First
}

// latest returns the time of the latest poll of a page, which has one, to the second.
func (p *Page) latest() time.Time {
	return time.Unix(int64(binary.LittleEndian.Uint32(p.history[len(p.history)-memorySize:])), 0)
}

// patience is for how many seconds a page whose latest poll failed is left alone, by the rule of
// GiveBack of [knapsack.RateFilter], in cycles of so many seconds.
func (p *Page) patience(cycle float64) float64 {
	all := p.History()
	first := len(all) - 1 // of the failures in a row, among which a first copy is none
	for !p.firstCopy() && first > 0 && all[first-1].Result > First {
		first--
	}
	since := cycle
	if first > 0 && all[first-1].Result <= First {
		since = all[first].At.Sub(all[first-1].At).Seconds()
	}
	wait := max(min(since, cycle)/2, cycle/8)
	return min(math.Ldexp(wait, len(all)-1-first), 16*cycle)
}
