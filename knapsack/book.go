package knapsack

import (
	"fmt"
	"iter"
	"math"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/ids"
	"github.com/recrawl/recrawl/knapsack/internal/flights"
)

// book is what all Schedulers share: which pages there are, which polls are in flight, and what
// time it is.
type book struct {
	ids   ids.Registry
	asked flights.Table // slots of the pages in flight, with the times of their Next
	now   float64       // of the latest Next; −Inf before the first
}

func newBook(n int) book {
	if n < 0 || n > ids.MaxSlots {
		panic(fmt.Sprintf("knapsack: %d pages", n))
	}
	return book{ids: ids.Make(n), asked: flights.Make(), now: math.Inf(-1)}
}

// zero reports whether b is that of a zero value.
func (b *book) zero() bool { return b.asked.Zero() }

// made panics if b is that of a zero value.
func (b *book) made() {
	if b.zero() {
		panic("knapsack: a learner that is a zero value: make it with its New function, or load a saved one")
	}
}

// add returns a new page.
func (b *book) add() (page int) {
	b.made()
	return b.ids.Add()
}

// Len returns the number of pages.
func (b *book) Len() int { return b.ids.Len() }

// All returns the ids of all pages, in the order of their slots.
func (b *book) All() iter.Seq[int] { return b.ids.All() }

// clock checks the time of a Next.
func (b *book) clock(now float64) error {
	b.made()
	if math.IsNaN(now) || math.IsInf(now, 0) || now < b.now {
		return fmt.Errorf("%w: Next at %v after %v", ErrTime, now, b.now)
	}
	return nil
}

// ask notes that a page is in flight from now on.
func (b *book) ask(slot int, now float64) int {
	b.now = now
	b.asked.Put(slot, now)
	return b.ids.ID(slot)
}

// answer checks a call that ends a flight, and ends it.
func (b *book) answer(page int, now float64) (slot int, err error) {
	slot, err = b.slot(page)
	if err != nil {
		return 0, err
	}
	asked, ok := b.asked.Get(slot)
	switch {
	case !ok:
		return 0, fmt.Errorf("%w: page %d", ErrNotAsked, page)
	case math.IsNaN(now) || math.IsInf(now, 0) || now < asked:
		return 0, fmt.Errorf("%w: page %d was asked for at %v and answered at %v", ErrTime, page, asked, now)
	}
	b.asked.Delete(slot)
	return slot, nil
}

// slot returns the slot of a valid page.
func (b *book) slot(page int) (int, error) {
	slot, ok := b.ids.Slot(page)
	if !ok {
		return 0, fmt.Errorf("%w: %d", ErrUnknown, page)
	}
	return slot, nil
}

// inFlight reports whether the page in a slot waits for its answer.
func (b *book) inFlight(slot int) bool {
	_, ok := b.asked.Get(slot)
	return ok
}

// flights returns the pages in flight, in the order of their slots, with the times of their Next.
func (b *book) flights() iter.Seq2[int, float64] {
	return func(yield func(int, float64) bool) {
		for slot, at := range b.asked.All() {
			if !yield(b.ids.ID(slot), at) {
				return
			}
		}
	}
}

// idle reports whether a slot holds a page that is not in flight.
func (b *book) idle(slot int) bool { return b.ids.Live(slot) && !b.inFlight(slot) }

// remove makes a page invalid, and reports whether it was in flight.
func (b *book) remove(page int) (slot int, flying bool, err error) {
	slot, err = b.slot(page)
	if err != nil {
		return 0, false, err
	}
	flying = b.asked.Delete(slot)
	b.ids.Remove(page)
	return slot, flying, nil
}

func (b *book) encode(e *codec.Encoder) {
	b.made()
	b.ids.Encode(e)
	e.Float64(b.now)
	e.Int(b.asked.Len())
	for slot, at := range b.asked.All() {
		e.Uint32(uint32(slot))
		e.Float64(at)
	}
}

func decodeBook(d *codec.Decoder) book {
	b := book{ids: ids.Decode(d), now: d.Float64In(math.Inf(-1), math.MaxFloat64), asked: flights.Make()}
	least := 0
	for range d.Count(12) {
		slot, at := d.Uint32(), d.Float64()
		good := int(slot) >= least && int(slot) < b.ids.Slots() && b.ids.Live(int(slot)) && at <= b.now && !math.IsInf(at, -1)
		if d.Require(good, "slot %d in flight since %v", slot, at); d.Err() != nil {
			break
		}
		b.asked.Put(int(slot), at)
		least = int(slot) + 1
	}
	return b
}
