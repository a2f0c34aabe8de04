package main

import (
	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/webenv"
)

// A miniflux is the entry_frequency rule of the feed reader Miniflux under a budget: the
// interval of a page is a week over the changes of the last week, at least 5 minutes and
// at most a day, or the time in which the budget pays for a poll of each page, if that is
// more. Next gives the page that is most overdue. Where Miniflux counts the entries of a
// feed, this counts the polls that found a change.
type miniflux struct {
	*paced                  // by one over the interval
	week, shortest, longest float64
	found                   [][]float64 // times of the finds of the last week, of each page
}

func newMiniflux(j job) (webenv.Scheduler, error) {
	p, err := newPaced(j)
	return &miniflux{
		p, 7 * day * j.second, 300 * j.second, max(day*j.second, float64(j.pages)/j.rate), make([][]float64, j.pages),
	}, err
}

func (m *miniflux) Observe(page int, now float64, changed bool) error {
	if _, err := m.polled(page, now, changed); err != nil {
		return err
	}
	slot := knapsack.Slot(page)
	found := m.found[slot]
	if changed {
		found = append(found, now)
	}
	for len(found) > 0 && found[0] <= now-m.week {
		found = found[1:]
	}
	m.found[slot] = found
	interval := m.longest
	if len(found) > 0 {
		interval = min(max(m.week/float64(len(found)), m.shortest), m.longest)
	}
	return m.set(page, 1/interval)
}

func (m *miniflux) join(id, page int, now float64) error {
	m.found = put(m.found, id, nil)
	return m.paced.join(id, page, now)
}
