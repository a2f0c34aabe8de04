package knapsack

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/ids"
	"github.com/recrawl/recrawl/knapsack/internal/pick"
	"github.com/recrawl/recrawl/knapsack/internal/queue"
)

// book is what all Schedulers share: which pages there are, which polls are in flight, and what
// time it is.
type book struct {
	ids    ids.Registry
	asked  map[uint32]float64 // slot of a page in flight → time of its Next, but for the latest
	latest uint32             // slot of the page that the latest Next gave, plus 1, while it is in flight; else 0
	now    float64            // of the latest Next; −Inf before the first
}

// mostPages is how many pages a learner takes to begin with: 2^30, as many as a RateFilter can hold.
const mostPages = queue.MaxSlots

// checkPages checks how many pages there are to be.
func checkPages(n int) error {
	if n < 0 || n > mostPages {
		return fmt.Errorf("%w: %d pages, not 0 to %d", ErrConfig, n, mostPages)
	}
	return nil
}

// newBook returns one of n pages, which have been checked.
func newBook(n int) book {
	return book{ids: ids.Make(n), asked: map[uint32]float64{}, now: math.Inf(-1)}
}

// zero reports whether b is that of a zero value.
func (b *book) zero() bool { return b.asked == nil }

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

// timely reports whether a time is not too far from 0; NaN is.
func timely(at float64) bool { return math.Abs(at) < pick.MostTime }

// checkNext checks the time of a Next.
func (b *book) checkNext(now float64) error {
	b.made()
	if !timely(now) || now < b.now {
		return fmt.Errorf("%w: Next at %v after %v", ErrTime, now, b.now)
	}
	return nil
}

// ask notes that a page is in flight from now on.
func (b *book) ask(slot int, now float64) int {
	b.file()
	b.now, b.latest = now, uint32(slot)+1
	return b.ids.ID(slot)
}

// file puts the latest flight into the map, so that all are there. It is kept apart because it is
// often the first to end, which then takes no entry of the map (BenchmarkPoll).
func (b *book) file() {
	if b.latest > 0 {
		b.asked[b.latest-1] = b.now
		b.latest = 0
	}
}

// askedAt returns the time of the Next of the flight of a slot, if there is one.
func (b *book) askedAt(slot int) (at float64, ok bool) {
	if b.latest == uint32(slot)+1 {
		return b.now, true
	}
	at, ok = b.asked[uint32(slot)]
	return at, ok
}

// end ends the flight of a slot, if there is one.
func (b *book) end(slot int) {
	if b.latest == uint32(slot)+1 {
		b.latest = 0
	} else {
		delete(b.asked, uint32(slot))
	}
}

// answer checks a call that ends a flight, and ends it.
func (b *book) answer(page int, now float64) (slot int, err error) {
	slot, err = b.slot(page)
	if err != nil {
		return 0, err
	}
	asked, ok := b.askedAt(slot)
	switch {
	case !ok:
		return 0, fmt.Errorf("%w: page %d", ErrNotAsked, page)
	case !timely(now) || now < asked:
		return 0, fmt.Errorf("%w: page %d was asked for at %v and answered at %v", ErrTime, page, asked, now)
	}
	b.end(slot)
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
	_, ok := b.askedAt(slot)
	return ok
}

// flights returns the pages in flight, in any order, with the times of their Next.
func (b *book) flights() iter.Seq2[int, float64] {
	return func(yield func(int, float64) bool) {
		b.file()
		for slot, at := range b.asked {
			if !yield(b.ids.ID(int(slot)), at) {
				return
			}
		}
	}
}

// flying returns how many pages are in flight.
func (b *book) flying() int {
	b.file()
	return len(b.asked)
}

// idle reports whether a slot holds a page that is not in flight.
func (b *book) idle(slot int) bool { return b.ids.Live(slot) && !b.inFlight(slot) }

// remove makes a page invalid, and reports whether it was in flight.
func (b *book) remove(page int) (slot int, flying bool, err error) {
	slot, err = b.slot(page)
	if err != nil {
		return 0, false, err
	}
	flying = b.inFlight(slot)
	b.end(slot)
	b.ids.Remove(page)
	return slot, flying, nil
}

func (b *book) encode(e *codec.Encoder) {
	b.made()
	b.file()
	b.ids.Encode(e)
	e.Float64(b.now)
	e.Int(len(b.asked))
	for _, slot := range slices.Sorted(maps.Keys(b.asked)) {
		e.Uint32(slot)
		e.Float64(b.asked[slot])
	}
}

func decodeBook(d *codec.Decoder) book {
	b := book{ids: ids.Decode(d), now: d.Float64In(math.Inf(-1), math.MaxFloat64), asked: map[uint32]float64{}}
	d.Require(timely(b.now) || math.IsInf(b.now, -1), "the latest poll is at %v", b.now)
	least := 0
	for range d.Count(12) {
		slot, at := d.Uint32(), d.Float64()
		good := int(slot) >= least && int(slot) < b.ids.Slots() && b.ids.Live(int(slot)) && at <= b.now && !math.IsInf(at, -1)
		if d.Require(good, "slot %d in flight since %v", slot, at); d.Err() != nil {
			break
		}
		b.asked[slot] = at
		least = int(slot) + 1
	}
	return b
}
