package shard

import (
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

func (t teller) Observe(key string, now time.Time, changed bool) error {
	err := t.Keyed.Observe(key, now, changed)
	if errors.Is(err, knapsack.ErrNotAsked) {
		err = t.Record(key, now, changed)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// GiveBack tells of a failure. The learner takes none that it does not wait for, and so the page is
// put off for as long as the learner would have done.
func (t teller) GiveBack(key string, now time.Time) error {
	if err := t.Keyed.GiveBack(key, now); !errors.Is(err, knapsack.ErrNotAsked) {
		return err
	}
	return t.state.filter(func(f *knapsack.RateFilter, page func(string) (int, error)) error {
		stats := f.Stats()
		if stats.Budget == 0 {
			return nil
		}
		id, err := page(key)
		if err != nil {
			return err
		}
		until := float64(now.UnixNano())/1e9 + t.page.patience(float64(stats.Pages)/stats.Budget)
		if veto := t.event.Until; !veto.IsZero() {
			until = max(until, float64(veto.UnixNano())/1e9)
		}
		return f.Defer(id, until)
	})
}

// patience is for how many seconds a page whose latest poll failed is left alone, by the rule of
// GiveBack of [knapsack.RateFilter], in cycles of so many seconds.
func (p *Page) patience(cycle float64) float64 {
	all := p.History()
	first := len(all) - 1 // of the failures in a row
	for first > 0 && all[first-1].Result > First {
		first--
	}
	since := cycle
	if first > 0 {
		since = all[first].At.Sub(all[first-1].At).Seconds()
	}
	wait := max(min(since, cycle)/2, cycle/8)
	return min(math.Ldexp(wait, len(all)-1-first), 16*cycle)
}
