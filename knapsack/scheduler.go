package knapsack

import (
	"encoding"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/ids"
)

// A Scheduler tells a crawler which page to poll next, and learns from what the
// polls find. All learners and policies of this package are Schedulers.
//
// Asking spends the budget: a crawler that may poll twice an hour asks twice an
// hour. Many polls may be in flight at once; a page in flight is not given again
// before its answer. Answers come in any order, and times are in any one unit.
type Scheduler interface {
	// Next gives the page to poll at time now, which must not be before the now
	// of an earlier Next. It returns ErrNoPage if no page may be polled at
	// present.
	Next(now float64) (page int, err error)
	// Observe tells what the poll of a page found: whether the page had changed
	// at least once since it was last polled. now is the time of the answer, not
	// before the Next that gave the page.
	Observe(page int, now float64, changed bool) error
	// GiveBack says that a poll will never be answered. Nothing is learnt from
	// it, and the page may be polled again.
	GiveBack(page int, now float64) error
}

// A Learner is a Scheduler whose set of pages may change while it runs, and
// which can be saved in the middle of a run and continues bit for bit. As long as
// no page has been removed, the ids of its pages are 0, 1, 2, … in the order in
// which they were added. A page added after a removal may get a very large id:
// index slices by Slot(page), or keep a map. An id stays valid until its page is
// removed, and is never given out again.
type Learner interface {
	Scheduler
	// Add takes in one more page and returns its id.
	Add() (page int)
	// Remove drops a page, in flight or not.
	Remove(page int) error
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// Errors of Schedulers, returned wrapped with the page and the value. A call
// that returns an error has changed nothing.
var (
	ErrNoPage    = errors.New("knapsack: no page may be polled now")
	ErrPage      = errors.New("knapsack: unknown or removed page")
	ErrNotAsked  = errors.New("knapsack: answer to a poll that is not in flight")
	ErrTime      = errors.New("knapsack: time is not finite or goes backwards")
	ErrConfig    = errors.New("knapsack: setting out of range")
	ErrRate      = errors.New("knapsack: change rate is negative or not finite")
	ErrWeight    = errors.New("knapsack: weight is negative or not finite")
	ErrFrequency = errors.New("knapsack: polling frequency is negative or not finite")
	ErrBudget    = errors.New("knapsack: budget cannot be spent")

	// Errors of saving and restoring.
	ErrCorrupt = codec.ErrCorrupt // truncated, altered, or saved by another type
	ErrVersion = codec.ErrVersion // saved by another version
	ErrSource  = codec.ErrSource  // a source of randomness other than *rand.PCG and *rand.ChaCha8
)

// Slot returns a small number for a page, for use as an index into slices that
// run parallel to the learner's own: it is less than the greatest number of
// pages that there have been at any one time, and the page's id itself as long as
// no page has been removed.
func Slot(page int) int { return ids.Slot(page) }

// book is what all Schedulers share: which pages there are, which polls are in
// flight, and what time it is.
type book struct {
	ids   ids.Registry
	asked map[uint32]float64 // slot of a page in flight → time of its Next
	now   float64            // of the latest Next; −Inf before the first
}

func newBook(n int) book {
	if n < 0 || n > ids.MaxSlots {
		panic(fmt.Sprintf("knapsack: %d pages", n))
	}
	return book{ids: ids.Make(n), asked: map[uint32]float64{}, now: math.Inf(-1)}
}

// clock checks the time of a Next.
func (b *book) clock(now float64) error {
	if math.IsNaN(now) || math.IsInf(now, 0) || now < b.now {
		return fmt.Errorf("%w: Next at %v after %v", ErrTime, now, b.now)
	}
	return nil
}

// ask notes that a page is in flight from now on.
func (b *book) ask(slot int, now float64) int {
	b.now = now
	b.asked[uint32(slot)] = now
	return b.ids.ID(slot)
}

// answer checks a call that ends a flight, and ends it.
func (b *book) answer(page int, now float64) (slot int, err error) {
	slot, err = b.slot(page)
	if err != nil {
		return 0, err
	}
	asked, ok := b.asked[uint32(slot)]
	switch {
	case !ok:
		return 0, fmt.Errorf("%w: page %d", ErrNotAsked, page)
	case math.IsNaN(now) || math.IsInf(now, 0) || now < asked:
		return 0, fmt.Errorf("%w: page %d was asked for at %v and answered at %v", ErrTime, page, asked, now)
	}
	delete(b.asked, uint32(slot))
	return slot, nil
}

// slot returns the slot of a valid page.
func (b *book) slot(page int) (int, error) {
	slot, ok := b.ids.Slot(page)
	if !ok {
		return 0, fmt.Errorf("%w: %d", ErrPage, page)
	}
	return slot, nil
}

// inFlight says whether the page in a slot waits for its answer.
func (b *book) inFlight(slot int) bool {
	_, ok := b.asked[uint32(slot)]
	return ok
}

// remove makes a page invalid, and says whether it was in flight.
func (b *book) remove(page int) (slot int, flying bool, err error) {
	slot, err = b.slot(page)
	if err != nil {
		return 0, false, err
	}
	flying = b.inFlight(slot)
	delete(b.asked, uint32(slot))
	b.ids.Remove(page)
	return slot, flying, nil
}

func (b *book) encode(e *codec.Encoder) {
	b.ids.Encode(e)
	e.Float64(b.now)
	e.Int(len(b.asked))
	for _, slot := range slices.Sorted(maps.Keys(b.asked)) {
		e.Uint32(slot)
		e.Float64(b.asked[slot])
	}
}

func decodeBook(d *codec.Decoder) book {
	b := book{ids: ids.Decode(d), now: d.Float64(), asked: map[uint32]float64{}}
	if math.IsNaN(b.now) || math.IsInf(b.now, 1) {
		d.Fail("the time is %v", b.now)
	}
	for range d.Int() {
		slot, at := d.Uint32(), d.Float64()
		if d.Err() != nil {
			break
		}
		if int(slot) >= b.ids.Slots() || !b.ids.Live(int(slot)) || b.inFlight(int(slot)) || !(at <= b.now) {
			d.Fail("slot %d in flight since %v", slot, at)
			break
		}
		b.asked[slot] = at
	}
	return b
}
