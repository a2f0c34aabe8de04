package knapsack

import (
	"encoding"
	"iter"

	"github.com/recrawl/recrawl/internal/ids"
)

// A Scheduler says which page to poll next and learns from what polls find. Every learner and
// policy of this package is a Scheduler.
//
// Each call of Next spends one poll of the budget: a crawler that may poll twice an hour calls
// Next twice an hour. Many polls may be in flight at once. A page in flight is not given again
// before its answer. Answers come in any order. Times are numbers in one unit of the caller's
// choice.
type Scheduler interface {
	// Next returns the page to poll at time now. Time must not go backwards from one Next to the
	// next. Next returns ErrNoPage if no page may be polled at present.
	Next(now float64) (page int, err error)
	// Observe reports whether a poll found that the page had changed since its previous poll. now
	// is the time of the answer, at or after the Next that gave the page.
	Observe(page int, now float64, changed bool) error
	// GiveBack reports that a poll gets no answer. Nothing is learnt from it, and the page may be
	// polled again.
	GiveBack(page int, now float64) error
}

// A Learner is a Scheduler whose pages come and go while it runs. It can be saved in the middle
// of a run, and continues bit for bit (in the same build on the same kind of processor).
//
// The pages of a new learner have the ids 0, 1, 2, … Add returns the next one. An id stays valid
// until Remove, and is never given out again. After a removal Add may return a very large id:
// index slices by Slot(page), or keep a map.
type Learner interface {
	Scheduler
	// Add adds a page and returns its id.
	Add() (page int)
	// Remove removes a page, in flight or not.
	Remove(page int) error
	// Len returns the number of pages.
	Len() int
	// All returns the ids of all pages, in the order of their slots.
	All() iter.Seq[int]
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// Slot returns the index of a page for slices that run parallel to a learner's pages. Slots are
// small: a slot is less than the greatest number of pages that there have been at any one time, plus
// one for every 32,768 removals. As long as no page has been removed, the slot of a page is its id.
func Slot(page int) int { return ids.Slot(page) }
