package knapsack

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/belief"
	"github.com/recrawl/recrawl/knapsack/internal/lately"
	"github.com/recrawl/recrawl/knapsack/internal/pick"
)

// What the learners know of a page alone, for Keyed.Export and Import. See pager.

var _, _, _, _, _ pager = (*RateFilter)(nil), (*Planner)(nil), (*LAKG)(nil), (*Adaptive)(nil), (*Fixed)(nil)

func (f *RateFilter) pageFormat() codec.Format {
	return codec.Format{Magic: "recrawl/RateFilter.page", Version: 4}
}

func (f *RateFilter) encodePage(slot int, e *codec.Encoder) {
	page := f.model.Page(f.beliefs[slot])
	page.Encode(e)
	e.Float64(f.polled[slot])
	e.Float64(f.birth(uint32(slot)))
	e.Bool(f.changed.has(uint32(slot)))
	e.Bool(f.touched.has(uint32(slot)))
	e.Bool(f.added.has(uint32(slot)))
	if e.Bool(f.rates != nil); f.rates != nil {
		f.rates[slot].Encode(e)
	}
}

// decodePage gives a filter without a time scale that of the page.
func (f *RateFilter) decodePage(d *codec.Decoder) func(slot int) {
	var page belief.Page
	page.Decode(d)
	polled := d.Float64In(math.Inf(-1), pick.MostTime)
	d.Require(timely(polled) || math.IsInf(polled, -1), "polled at %v", polled)
	birth := d.Float64In(math.Inf(-1), pick.MostTime)
	changed, touched, added := d.Bool(), d.Bool(), d.Bool()
	rated, rate := d.Bool(), lately.Rate{}
	if rated {
		rate = lately.Decode(d)
	}
	return func(slot int) {
		if !f.model.Known() && page.Cycle() > 0 {
			f.begin(page.Cycle())
		}
		s := uint32(slot)
		f.vote(slot, -1)
		f.forgetEarly(s)
		f.leave(s)
		f.beliefs[slot], f.polled[slot] = f.model.Adopt(&page), polled
		if f.setBirth(slot, birth); f.model.Known() && !math.IsInf(birth, -1) {
			f.census.Youth.Begin(f.model.Cycle())
		}
		f.changed.set(s, changed)
		f.touched.set(s, touched)
		f.added.set(s, added)
		switch cycle := f.model.Cycle(); {
		case page.Cycle() == 0:
			f.setRate(s, lately.Rate{})
		case rated:
			f.setRate(s, rate.Rescaled(cycle/page.Cycle(), f.answers))
		default: // of a filter with another objective
			b := f.belief(slot)
			f.setRate(s, lately.Of(f.model.Rate(b.MeanCell())*cycle, f.answers))
		}
		f.vote(slot, 1)
		f.markAnew(s)
		f.retime(s)
	}
}

func (p *Planner) pageFormat() codec.Format {
	return codec.Format{Magic: "recrawl/Planner.page", Version: 2}
}

func (p *Planner) encodePage(slot int, e *codec.Encoder) {
	e.Byte(byte(p.cfg.Method))
	p.plan.EncodePage(slot, e)
}

func (p *Planner) decodePage(d *codec.Decoder) func(slot int) {
	method := RateMethod(d.Byte())
	d.Require(method == p.cfg.Method, "the page of a Planner with rates by %v, not %v", method, p.cfg.Method)
	set := p.plan.DecodePage(d, p.cfg.Method.evidence())
	return func(slot int) {
		set(slot)
		p.refresh(slot)
	}
}

func (l *LAKG) pageFormat() codec.Format {
	return codec.Format{Magic: "recrawl/LAKG.page", Version: 1}
}

// encodePage writes the amount, which does not depend on the number of states.
func (l *LAKG) encodePage(slot int, e *codec.Encoder) { e.Float64(l.roster.Frequency(slot)) }

func (l *LAKG) decodePage(d *codec.Decoder) func(slot int) {
	amount := d.Float64In(0, 1)
	return func(slot int) { l.roster.Set(slot, amount) }
}

func (a *Adaptive) pageFormat() codec.Format {
	return codec.Format{Magic: "recrawl/Adaptive.page", Version: 1}
}

func (a *Adaptive) encodePage(slot int, e *codec.Encoder) { e.Float64(1 / a.roster.Frequency(slot)) }

func (a *Adaptive) decodePage(d *codec.Decoder) func(slot int) {
	interval := min(max(d.Float64In(math.SmallestNonzeroFloat64, math.MaxFloat64), a.cfg.Min), a.cfg.Max)
	return func(slot int) { a.roster.Set(slot, 1/interval) }
}

func (f *Fixed) pageFormat() codec.Format {
	return codec.Format{Magic: "recrawl/Fixed.page", Version: 1}
}

func (f *Fixed) encodePage(slot int, e *codec.Encoder) { e.Float64(f.roster.Frequency(slot)) }

func (f *Fixed) decodePage(d *codec.Decoder) func(slot int) {
	x := d.Float64In(0, pick.MostFrequency)
	return func(slot int) { f.roster.Set(slot, x) }
}
