package knapsack

import (
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/pick"
)

// A roster holds the pages that are not in flight, by their slots, and picks them.
type roster interface {
	// Pick takes a page out. It returns false if there is none to pick.
	Pick(now float64) (slot int, ok bool)
	// Put brings a page in, one that comes back or a new one, last polled at time at.
	Put(slot int, at float64)
	// Drop forgets a page, in or out.
	Drop(slot int)
	// Frequency returns the frequency at which a page is picked.
	Frequency(slot int) float64
}

// rostered is what the learners share whose pages wait in a roster until they are picked.
type rostered[R roster] struct {
	book
	roster R
}

// Next implements Scheduler.
func (r *rostered[R]) Next(now float64) (page int, err error) {
	if err := r.checkNext(now); err != nil {
		return 0, err
	}
	slot, ok := r.roster.Pick(now)
	if !ok {
		return 0, &NoPageError{math.Inf(1)}
	}
	return r.ask(slot, now), nil
}

// land ends a flight: the page waits to be picked again.
func (r *rostered[R]) land(page int, now float64) (slot int, err error) {
	if slot, err = r.answer(page, now); err == nil {
		r.roster.Put(slot, now)
	}
	return slot, err
}

// GiveBack implements Scheduler. The poll counts as made, so that a page that never answers gets
// no more than its share.
func (r *rostered[R]) GiveBack(page int, now float64) error {
	_, err := r.land(page, now)
	return err
}

// Add implements Learner. The page counts as polled at the latest Next. Time: O(log n), but O(n)
// for a call that grows the tables; they grow in proportion, so that such calls are rare.
func (r *rostered[R]) Add() (page int) {
	page = r.add()
	r.roster.Put(Slot(page), r.now)
	return page
}

// Remove implements Learner.
func (r *rostered[R]) Remove(page int) error {
	slot, _, err := r.remove(page)
	if err == nil {
		r.roster.Drop(slot)
	}
	return err
}

// Frequency returns the frequency at which a page is polled, up to a factor that is the same for all
// pages.
func (r *rostered[R]) Frequency(page int) (float64, error) {
	slot, err := r.slot(page)
	if err != nil {
		return 0, err
	}
	return r.roster.Frequency(slot), nil
}

// scheduled is what the learners share that set the frequencies of their pages.
type scheduled struct {
	rostered[pick.Roster]
	spacing  Spacing // Even or Random
	start    float64 // time of the first Next; −Inf before
	newcomer float64 // frequency of a page that is added
}

// newScheduled has n pages of frequency 0.
func newScheduled(n int, spacing Spacing, src rand.Source) scheduled {
	spacing = spacing.or(Even)
	return scheduled{
		rostered: rostered[pick.Roster]{newBook(n), pick.New(n, spacing == Random, src)},
		spacing:  spacing,
		start:    math.Inf(-1),
	}
}

// Next implements Scheduler.
func (s *scheduled) Next(now float64) (page int, err error) {
	page, err = s.rostered.Next(now)
	if err == nil && math.IsInf(s.start, -1) {
		s.start = now
	}
	return page, err
}

// Add implements Learner. The page counts as polled at the latest Next. Time: O(log n), but O(n)
// for a call that grows the tables; they grow in proportion, so that such calls are rare.
func (s *scheduled) Add() (page int) {
	page = s.rostered.Add()
	s.roster.Set(Slot(page), s.newcomer)
	return page
}

func (s *scheduled) encode(e *codec.Encoder) {
	s.book.encode(e)
	e.Byte(byte(s.spacing))
	e.Float64(s.start)
	s.roster.Encode(e)
}

func (s *scheduled) decode(d *codec.Decoder) {
	s.book = decodeBook(d)
	s.spacing = codec.Enum[Spacing](d, int(spacings))
	s.start = d.Float64In(math.Inf(-1), s.now)
	s.roster = pick.Decode(d, s.spacing == Random, s.ids.Slots(), s.idle)
}
