package census

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/belief"
)

// shareMemory is how many cycles the prior remembers. Chosen, not swept;
// TestRateFilterFreshness measures what the prior is worth.
const shareMemory = 5

// A Prior is the average posterior of all pages, over the recent past.
type Prior struct {
	// share is the time, weighted by how recent it is, that pages are believed to have
	// spent under a hypothesis; factor is made of it, relative to the flat prior.
	share, factor belief.Prior
	// landing has the probabilities of the rates of a page that jumps.
	landing belief.Row
}

// landingPrior is how many cycles every page counts as seen under the flat prior in landing. 0.01
// to 0.1 differ by less than 2 % in the delays of four recorded histories, 1 is 5 to 15 % worse.
const landingPrior = 0.1

func newPrior() (p Prior) {
	for c := range p.factor {
		for k := range p.factor[c] {
			p.factor[c][k] = 1
		}
	}
	for k := range p.landing {
		p.landing[k] = 1.0 / belief.Cells
	}
	return p
}

// Factor returns the prior relative to the flat one.
func (p *Prior) Factor() *belief.Prior { return &p.factor }

// Landing returns the probabilities of the rates to which pages jump: those of all pages.
func (p *Prior) Landing() *belief.Row { return &p.landing }

// Rates returns how much time pages have spent at each rate, and its total.
func (p *Prior) Rates() (share belief.Row, total float64) {
	for c := range p.share {
		for k, s := range p.share[c] {
			share[k] += s
			total += s
		}
	}
	return share, total
}

func (p *Prior) count(b *belief.Belief, gap, cycle float64, n int) {
	total := 0.0
	for c := range p.share {
		for k := range p.share[c] {
			total += float64(b.Weight(c, k) * p.factor[c][k])
		}
	}
	keep, scale := math.Exp(-gap/(shareMemory*cycle*float64(max(n, 1)))), gap/total
	for c := range p.share {
		for k, s := range p.share[c] {
			p.share[c][k] = float64(s*keep) + float64(float64(b.Weight(c, k)*p.factor[c][k])*scale)
		}
	}
}

func (p *Prior) estimate(cycle float64, n int) {
	share, total := p.Rates()
	// As if every page had been seen for a cycle under the flat prior. The
	// posterior of a class that jumps has the prior of rates in it at every jump,
	// and that is flat; so it is for the steady class only that rates are learnt.
	flat := cycle * float64(n)
	for k := range p.landing {
		p.landing[k] = (share[k] + landingPrior*flat/belief.Cells) / (total + landingPrior*flat)
	}
	for c := range p.factor {
		mass := 0.0
		for _, s := range p.share[c] {
			mass += s
		}
		for k := range p.factor[c] {
			s := mass * belief.Classes
			if c == belief.Steady {
				s = p.share[c][k] * belief.Classes * belief.Cells
			}
			p.factor[c][k] = (s + flat) / (total + flat)
		}
	}
}

func (p *Prior) slide(by int) {
	for c := range p.share {
		belief.Slide(&p.share[c], by)
		belief.Stretch(&p.factor[c], by)
	}
	belief.Slide(&p.landing, by)
}

func (p *Prior) encode(e *codec.Encoder) {
	for c := range p.share {
		e.Float64s(p.share[c][:])
		e.Float64s(p.factor[c][:])
	}
	e.Float64s(p.landing[:])
}

func (p *Prior) decode(d *codec.Decoder) {
	for c := range p.share {
		decodeRow(d, &p.share[c])
		decodeRow(d, &p.factor[c])
	}
	decodeRow(d, &p.landing)
}
