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
}

func newPrior() (p Prior) {
	for c := range p.factor {
		for k := range p.factor[c] {
			p.factor[c][k] = 1
		}
	}
	return p
}

// Factor returns the prior relative to the flat one.
func (p *Prior) Factor() *belief.Prior { return &p.factor }

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
	_, total := p.Rates()
	// As if every page had been seen for a cycle under the flat prior. The
	// posterior of a class that jumps has the prior of rates in it at every jump,
	// and that is flat; so it is for the steady class only that rates are learnt.
	flat := cycle * float64(n)
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
}

func (p *Prior) encode(e *codec.Encoder) {
	for c := range p.share {
		e.Float64s(p.share[c][:])
		e.Float64s(p.factor[c][:])
	}
}

func (p *Prior) decode(d *codec.Decoder) {
	for c := range p.share {
		decodeRow(d, &p.share[c])
		decodeRow(d, &p.factor[c])
	}
}
