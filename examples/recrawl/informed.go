package main

import (
	"math"
	"sort"

	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/webenv"
)

// An informed policy learns more from a poll than whether the page has changed: when it did, or which
// other pages of its group changed within an hour of that. What it finds then is what could be had at
// most by knowing more of the page, or of the group.
type informed struct {
	webenv.Scheduler
	records recorder // nil unless it is told when the page changed
	hears   listener // nil unless it is told which others did
	changes [][]float64
	last    []float64 // time of the last poll of each page
	mates   [][]int   // pages of the same group
}

// A recorder can use the times of changes, and a listener news of other pages.
type (
	recorder interface {
		RecordChanges(page int, from, until float64, times []float64) error
	}
	listener interface {
		Signal(page, source int, at float64) error
	}
)

// inform returns the policy with what the scenario tells it at each poll, or without if it cannot use
// that, or if nothing is known of the pages.
func (s scenario) inform(policy webenv.Scheduler, w *world, j job) webenv.Scheduler {
	records, _ := policy.(recorder)
	hears, _ := policy.(listener)
	switch {
	case s.times && records != nil:
		hears = nil
	case s.mates && hears != nil && j.names != nil:
		records = nil
	default:
		return policy
	}
	i := &informed{policy, records, hears, w.history.Times, make([]float64, w.pages), make([][]int, w.pages)}
	groups := map[string][]int{}
	for page, name := range j.names {
		group := groupings[j.groups](name)
		groups[group] = append(groups[group], page)
	}
	for page := range w.pages {
		i.last[page] = w.start
		if j.names != nil {
			i.mates[page] = groups[groupings[j.groups](j.names[page])]
		}
	}
	return i
}

// Observe implements webenv.Scheduler.
func (i *informed) Observe(page int, now float64, changed bool) error {
	slot := knapsack.Slot(page)
	found := between(i.changes[slot], i.last[slot], now)
	i.last[slot] = now
	if i.records != nil && changed {
		if err := i.records.RecordChanges(page, math.Inf(-1), now, found); err != nil {
			return err
		}
	}
	if err := i.Scheduler.Observe(page, now, changed); err != nil || i.hears == nil {
		return err
	}
	for _, t := range found {
		for _, mate := range i.mates[slot] {
			if len(between(i.changes[mate], max(i.last[mate], t-hour), min(now, t+hour))) > 0 {
				if err := i.hears.Signal(mate, 0, now); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// between returns the times after from and up to until, of times in order.
func between(times []float64, from, until float64) []float64 {
	first := sort.Search(len(times), func(k int) bool { return times[k] > from })
	last := sort.Search(len(times), func(k int) bool { return times[k] > until })
	return times[min(first, last):last]
}
