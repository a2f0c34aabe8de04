package knapsack

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/belief"
	"github.com/recrawl/recrawl/knapsack/internal/budget"
	"github.com/recrawl/recrawl/knapsack/internal/queue"
)

const (
	rateFilterMagic   = "recrawl/ratefilter"
	rateFilterVersion = 2
)

// AppendBinary appends the state: about 70 bytes a page.
func (f *RateFilter) AppendBinary(b []byte) ([]byte, error) {
	e := codec.NewEncoder(b, rateFilterMagic, rateFilterVersion)
	f.book.encode(e)
	e.Byte(byte(f.objective))
	f.model.Encode(e)
	f.meter.Encode(e)
	e.Uint64(f.answers)
	e.Float64(f.threshold)
	e.Uint32(f.sweep)
	for slot := range f.polled {
		e.Float64(f.polled[slot])
		f.beliefs[slot].Encode(e)
	}
	e.Float64s(f.weights)
	f.census.Encode(e)
	f.limits.Encode(e)
	f.hints.Encode(e)
	f.queue.Encode(e)
	return e.Finish()
}

// MarshalBinary returns the state.
func (f *RateFilter) MarshalBinary() ([]byte, error) { return f.AppendBinary(nil) }

// UnmarshalBinary restores what MarshalBinary saved; f may be the zero value.
func (f *RateFilter) UnmarshalBinary(data []byte) error {
	d, err := codec.NewDecoder(data, rateFilterMagic, rateFilterVersion)
	if err != nil {
		return err
	}
	r := &RateFilter{book: decodeBook(d), objective: Objective(d.Byte())}
	if r.objective >= objectives {
		d.Fail("objective %d", r.objective)
		return d.Err()
	}
	r.model = belief.NewModel(worth[r.objective]())
	r.model.Decode(d)
	r.meter = budget.Decode(d, r.now)
	r.answers, r.threshold, r.sweep = d.Uint64(), d.Float64(), d.Uint32()
	slots := r.ids.Slots()
	switch {
	case !(r.threshold >= 0) || math.IsInf(r.threshold, 1):
		d.Fail("threshold %v", r.threshold)
	case int(r.sweep) > slots || slots > queue.MaxSlots:
		d.Fail("slot %d of %d is next", r.sweep, slots)
	}
	r.decodePages(d, slots)
	r.census.Decode(d)
	r.limits.Decode(d, slots)
	r.hints.Decode(d, slots)
	r.queue = queue.Decode(d, slots, func(slot int) bool { return r.ids.Live(slot) && !r.inFlight(slot) })
	if r.queue.Groups() != r.limits.Paces() {
		d.Fail("%d groups with %d limits", r.queue.Groups(), r.limits.Paces())
	}
	if err := d.Done(); err != nil {
		return err
	}
	r.focus()
	*f = *r
	return nil
}

// decodePages reads what is known of each page.
func (f *RateFilter) decodePages(d *codec.Decoder, slots int) {
	for slot := 0; slot < slots && d.Err() == nil; slot++ {
		polled := d.Float64()
		if math.IsNaN(polled) || math.IsInf(polled, 1) {
			d.Fail("slot %d was polled at %v", slot, polled)
		}
		var p belief.Packed
		p.Decode(d)
		f.polled, f.beliefs = append(f.polled, polled), append(f.beliefs, p)
	}
	f.weights = d.Float64s()
	if n := len(f.weights); n != 0 && n != slots {
		d.Fail("weights of %d of %d pages", n, slots)
	}
	for slot, w := range f.weights {
		if !(w >= 0) || math.IsInf(w, 1) {
			d.Fail("slot %d has weight %v", slot, w)
		}
	}
}
