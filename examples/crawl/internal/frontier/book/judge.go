package book

import (
	"errors"
	"fmt"
	"math"

	"github.com/recrawl/recrawl/knapsack"
)

// A judge learns how often the URLs of a crawl change. All its pages are deferred for good, but
// those that are polled just now.
type judge struct {
	filter *knapsack.RateFilter
	where  []spot // of pages, by their slots
	sweep  uint32 // the next one to look at again
}

// A spot is where a URL is: its queue and its position there.
type spot struct{ queue, pos uint32 }

const nowhere = math.MaxUint32 // queue of a page without a URL

func newJudge(o knapsack.Objective) (judge, error) {
	f, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{Objective: o})
	return judge{filter: f}, err
}

// enter begins to learn of a URL, whose first copy came now.
func (j *judge) enter(u *URL, q *Queue, now float64) (err error) {
	if q.group == none {
		if q.group, err = j.filter.AddGroup(knapsack.GroupConfig{}); err != nil {
			return err
		}
	}
	u.page = j.filter.Add()
	j.note(u.page, spot{q.slot, q.index[u.text]})
	if err := j.filter.SetGroup(u.page, q.group); err != nil {
		return err
	}
	if err := j.filter.RecordChanges(u.page, now, now, nil); err != nil {
		return err
	}
	return j.settle(u)
}

// settle notes when a page is due, and defers it.
func (j *judge) settle(u *URL) (err error) {
	if u.due, err = j.filter.Due(u.page); err != nil {
		return err
	}
	return j.filter.Defer(u.page, math.Inf(1))
}

// leave forgets a URL.
func (j *judge) leave(u *URL) error {
	if u.page == none {
		return nil
	}
	page := u.page
	j.where[knapsack.Slot(page)] = spot{nowhere, 0}
	for n := len(j.where); n > 0 && j.where[n-1].queue == nowhere; n-- {
		j.where = j.where[:n-1]
	}
	u.page = none
	u.set(asked, false)
	return j.filter.Remove(page)
}

// ask tells the learner that a URL is polled. If it is polled already, as its lease ended without
// an answer, that poll goes on.
func (j *judge) ask(u *URL, now float64) error {
	if u.page == none || u.is(asked) {
		return nil
	}
	if err := j.filter.Defer(u.page, math.Inf(-1)); err != nil {
		return err
	}
	switch page, err := j.filter.Next(now); {
	case err != nil:
		return err
	case page != u.page:
		return fmt.Errorf("book: the learner asks for page %d, where only %d is free", page, u.page)
	}
	u.set(asked, true)
	return nil
}

// answer tells the learner what a poll found.
func (j *judge) answer(u *URL, now float64, changed bool) (err error) {
	if u.is(asked) {
		u.set(asked, false)
		err = j.filter.Observe(u.page, now, changed)
	} else if err = j.filter.Defer(u.page, math.Inf(-1)); err == nil {
		err = j.filter.Record(u.page, now, changed)
	}
	if err != nil {
		return err
	}
	return j.settle(u)
}

// disband forgets the group of a queue.
func (j *judge) disband(q *Queue) error {
	if q.group == none {
		return nil
	}
	group := q.group
	q.group = none
	return j.filter.RemoveGroup(group)
}

// has reports whether there is a URL of a page.
func (j *judge) has(page int) bool {
	slot := knapsack.Slot(page)
	return slot < len(j.where) && j.where[slot].queue != nowhere
}

// waits reports whether a page is deferred for good, as all are that are not in flight.
func (j *judge) waits(page int) (bool, error) {
	due, err := j.filter.Due(page)
	return math.IsInf(due, 1), err
}

// hasGroup reports whether the learner has a group. It changes nothing, as the time is none.
func (j *judge) hasGroup(group int) bool {
	return !errors.Is(j.filter.DeferGroup(group, math.NaN()), knapsack.ErrUnknown)
}

// note notes where the URL of a page is.
func (j *judge) note(page int, at spot) {
	slot := knapsack.Slot(page)
	for len(j.where) <= slot {
		j.where = append(j.where, spot{nowhere, 0})
	}
	j.where[slot] = at
}
