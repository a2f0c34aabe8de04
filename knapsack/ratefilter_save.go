package knapsack

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/belief"
	"github.com/recrawl/recrawl/knapsack/internal/budget"
	"github.com/recrawl/recrawl/knapsack/internal/census"
	"github.com/recrawl/recrawl/knapsack/internal/factor"
	"github.com/recrawl/recrawl/knapsack/internal/lately"
	"github.com/recrawl/recrawl/knapsack/internal/optimum"
	"github.com/recrawl/recrawl/knapsack/internal/queue"
)

var rateFilterFormat = codec.Format{Magic: "recrawl/knapsack.RateFilter", Version: 29}

// MarshalBinary returns the state.
func (f *RateFilter) MarshalBinary() ([]byte, error) { return rateFilterFormat.Save(f.encode) }

// UnmarshalBinary restores what MarshalBinary saved. The receiver may be the zero value.
func (f *RateFilter) UnmarshalBinary(data []byte) error {
	return codec.Load(f, rateFilterFormat, data, (*RateFilter).decode)
}

func (f *RateFilter) encode(e *codec.Encoder) {
	f.book.encode(e)
	e.Byte(byte(f.objective))
	f.model.Encode(e)
	f.meter.Encode(e)
	e.Float64(f.pays)
	e.Uint64(f.answers)
	e.Float64(f.threshold)
	e.Uint32(f.sweep)
	e.Float64(f.late)
	e.Uint32(f.tardy)
	e.Float64(f.credit)
	for slot := range f.polled {
		e.Float64(f.polled[slot])
		f.beliefs[slot].Encode(e)
	}
	f.encodeWorth(e)
	f.census.Encode(e)
	f.encodeBirths(e)
	for k := range f.levels {
		f.levels[k].Encode(e)
	}
	f.common.Encode(e)
	e.Uint64s(f.changed)
	e.Uint64s(f.touched)
	e.Uint64s(f.added)
	for _, t := range f.trails {
		e.Byte(byte(t))
	}
	for _, r := range f.rates {
		r.Encode(e)
	}
	f.limits.Encode(e)
	f.hints.Encode(e)
	f.tally.encode(e)
	f.encodeEarly(e)
	f.queue.Encode(e)
	f.encodeGroups(e)
}

// encodeWorth writes weights and costs.
func (f *RateFilter) encodeWorth(e *codec.Encoder) {
	e.Float64s(f.weights)
	var costs []float64
	if f.costs != nil {
		costs = f.costs[f.costs.Size():][:len(f.polled)]
	}
	e.Float64s(costs)
}

// encodeGroups writes what is known of groups. The queue has which pages are in them.
func (f *RateFilter) encodeGroups(e *codec.Encoder) {
	f.likeness.Encode(e)
	f.usual.Encode(e)
	if e.Bool(f.marks != nil); f.marks != nil {
		for _, m := range f.marks {
			known, lean := m.Bytes()
			e.Byte(known)
			e.Byte(lean)
		}
	}
	for g := range uint32(f.kin.Len()) {
		known := f.factorOf(g)
		if e.Bool(known != nil); known != nil {
			known.Encode(e)
		}
	}
}

func (f *RateFilter) decode(d *codec.Decoder) {
	f.book = decodeBook(d)
	f.objective = codec.Enum[Objective](d, int(objectives))
	f.model = belief.NewModel(worth[f.objective]())
	f.model.Decode(d)
	f.meter = budget.Decode(d, f.now)
	f.pays = d.NonNegative()
	f.answers, f.threshold, f.sweep, f.late, f.tardy = d.Uint64(), d.NonNegative(), d.Uint32(), d.Float64In(0, 1), d.Uint32()
	f.credit = d.NonNegative()
	slots := f.ids.Slots()
	d.Require(int(f.sweep) <= slots && int(f.tardy) <= slots && slots <= queue.MaxSlots, "slot %d of %d is next", f.sweep, slots)
	for slot := 0; slot < slots && d.Err() == nil; slot++ {
		f.polled = append(f.polled, d.Float64In(math.Inf(-1), math.MaxFloat64))
		f.beliefs = append(f.beliefs, belief.Packed{})
		f.beliefs[slot].Decode(d)
	}
	f.decodeWorth(d)
	f.census.Decode(d, f.objective == Detections)
	f.decodeBirths(d)
	f.levels = newLevels()
	for k := range f.levels {
		f.levels[k].Decode(d)
	}
	f.common.Decode(d)
	f.changed = d.Uint64sLen((slots + 63) / 64)
	f.touched = d.Uint64sLen((slots + 63) / 64)
	f.added = d.Uint64sLen((slots + 63) / 64)
	if f.objective == Detections && d.Err() == nil {
		f.trails = make([]census.Trail, slots)
		for slot := range f.trails {
			f.trails[slot] = census.DecodeTrail(d)
		}
		f.rates = make([]lately.Rate, slots)
		for slot := range f.rates {
			f.rates[slot] = lately.Decode(d)
		}
	}
	f.limits.Decode(d, slots)
	f.hints.Decode(d, slots)
	f.tally.decode(d)
	f.decodeEarly(d)
	f.queue = queue.Decode(d, slots, f.idle)
	if f.decodeGroups(d); d.Err() == nil {
		f.focus()
	}
}

// decodeWorth reads weights and costs.
func (f *RateFilter) decodeWorth(d *codec.Decoder) {
	slots := f.ids.Slots()
	f.weights = d.Float64sIn(codec.AnyLen, 0, math.MaxFloat64)
	d.Require(f.weights == nil || len(f.weights) == slots, "weights of %d of %d slots", len(f.weights), slots)
	costs := d.Float64sIn(codec.AnyLen, 0, optimum.MostInput)
	d.Require(costs == nil || len(costs) == slots, "costs of %d of %d slots", len(costs), slots)
	for slot, cost := range costs {
		d.Require((cost > 0) == f.ids.Live(slot), "slot %d costs %v", slot, cost)
	}
	if costs != nil && d.Err() == nil {
		f.costs = treeOfCosts(costs)
	}
}

// decodeGroups reads what is known of groups, and counts the pages in them.
func (f *RateFilter) decodeGroups(d *codec.Decoder) {
	slots := f.ids.Slots()
	d.Require(f.queue.Groups() == f.limits.Paces(), "%d groups with %d limits", f.queue.Groups(), f.limits.Paces())
	if d.Err() != nil {
		return
	}
	f.likeness.Decode(d)
	f.usual.Decode(d)
	if d.Bool() {
		f.marks = make([]factor.Mark, slots)
		for slot := range f.marks {
			known := d.Byte()
			m := factor.MarkFrom(known, d.Byte())
			d.Require(f.ids.Live(slot) || m == factor.Mark{}, "slot %d is free and marked", slot)
			f.setMark(uint32(slot), m)
		}
	}
	for range f.queue.Groups() {
		g := f.kin.Add(kin{})
		if d.Bool() {
			f.know(g).Decode(d)
		}
	}
	for slot := range uint32(slots) {
		if g := f.queue.Group(slot); g != queue.None {
			if d.Require(f.ids.Live(int(slot)) && f.marks != nil, "slot %d is free and in group %d", slot, g); d.Err() != nil {
				return
			}
			f.kin.At(g).Add(f.marks[slot])
			f.limits.Join(g, f.inFlight(int(slot)))
		}
	}
	f.limits.Counted(d)
	for g := range uint32(f.limits.Paces()) {
		ready, is := f.limits.Pace(g).Ready(), f.queue.ReadyGroup(g)
		d.Require(ready == is, "group %d is ready at %v, not %v", g, ready, is)
	}
}
