package knapsack

import (
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/pick"
)

// rostered is what the learners share whose pages wait in a roster until they are picked.
type rostered struct {
	book
	spacing  Spacing // Even or Random
	start    float64 // time of the first Next; −Inf before
	newcomer float64 // frequency of a page that is added
	roster   pick.Roster
}

// newRostered has n pages of frequency 0.
func newRostered(n int, spacing Spacing, src rand.Source) rostered {
	spacing = spacing.or(Even)
	return rostered{book: newBook(n), spacing: spacing, start: math.Inf(-1), roster: pick.New(n, spacing == Random, src)}
}

// Next implements Scheduler.
func (r *rostered) Next(now float64) (page int, err error) {
	if err := r.clock(now); err != nil {
		return 0, err
	}
	slot, ok := r.roster.Pick(now)
	if !ok {
		return 0, ErrNoPage
	}
	if math.IsInf(r.start, -1) {
		r.start = now
	}
	return r.ask(slot, now), nil
}

// land ends a flight: the page waits to be picked again.
func (r *rostered) land(page int, now float64) (slot int, err error) {
	if slot, err = r.answer(page, now); err == nil {
		r.roster.Put(slot, now)
	}
	return slot, err
}

// GiveBack implements Scheduler. The poll counts as made, so that a page that never answers
// gets no more than its share.
func (r *rostered) GiveBack(page int, now float64) error {
	_, err := r.land(page, now)
	return err
}

// Add implements Learner. The page counts as polled at the latest Next.
func (r *rostered) Add() (page int) {
	page = r.ids.Add()
	r.roster.Put(Slot(page), r.now)
	r.roster.Set(Slot(page), r.newcomer)
	return page
}

// Remove implements Learner.
func (r *rostered) Remove(page int) error {
	slot, _, err := r.remove(page)
	if err == nil {
		r.roster.Drop(slot)
	}
	return err
}

// Frequency returns the frequency at which a page is polled: for a Planner per unit of time, else up to
// a factor that is the same for all pages.
func (r *rostered) Frequency(page int) (float64, error) {
	slot, err := r.slot(page)
	if err != nil {
		return 0, err
	}
	return r.roster.Frequency(slot), nil
}

func (r *rostered) encode(e *codec.Encoder) {
	r.book.encode(e)
	e.Byte(byte(r.spacing))
	e.Float64(r.start)
	r.roster.Encode(e)
}

func (r *rostered) decode(d *codec.Decoder) {
	r.book = decodeBook(d)
	r.spacing = codec.Enum[Spacing](d, int(spacings))
	r.start = d.Float64In(math.Inf(-1), r.now)
	r.roster = pick.Decode(d, r.spacing == Random, r.ids.Slots(), r.idle)
}
