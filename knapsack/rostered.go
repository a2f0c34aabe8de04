package knapsack

import (
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/pick"
)

// rostered is what the learners share whose pages wait in a roster until they are picked.
type rostered struct {
	book
	spacing Spacing // Even or Random
	roster  pick.Roster
}

// newRostered has n pages of frequency 0.
func newRostered(n int, spacing Spacing, src rand.Source) rostered {
	spacing = spacing.or(Even)
	return rostered{newBook(n), spacing, pick.New(n, spacing == Random, src)}
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

// enrol adds a page that is polled with frequency x.
func (r *rostered) enrol(x float64) (page int) {
	page = r.ids.Add()
	r.roster.Put(Slot(page), r.now)
	r.roster.Set(Slot(page), x)
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

// frequency returns the frequency of a page.
func (r *rostered) frequency(page int) (float64, error) {
	slot, err := r.slot(page)
	if err != nil {
		return 0, err
	}
	return r.roster.Frequency(slot), nil
}

func (r *rostered) encode(e *codec.Encoder) {
	r.book.encode(e)
	e.Byte(byte(r.spacing))
	r.roster.Encode(e)
}

func (r *rostered) decode(d *codec.Decoder) {
	r.book = decodeBook(d)
	r.spacing = codec.Enum[Spacing](d, int(spacings))
	r.roster = pick.Decode(d, r.spacing == Random, r.ids.Slots(), r.idle)
}
