package belief

import "math"

// LearnEdited is Learn where an edit of many pages may have changed the page besides, with
// probability edited: a change tells the less of the page's own rate.
func (m *Model) LearnEdited(b *Belief, gap, counts, edited float64, changed bool) {
	m.Pass(b, gap)
	var likelihood Row
	m.survive.read(&likelihood, gridAt(m.slowestRate(), counts))
	if changed {
		for k, stay := range likelihood {
			likelihood[k] = 1 - float64(stay*(1-edited))
		}
	}
	for k, l := range likelihood {
		likelihood[k] = atLeast(1e-30, l) // lest a posterior vanish
	}
	b.times(&likelihood)
}

// growth is the ratio of two neighbouring rates.
var growth = math.Exp(Step)

// Edited returns by how much more a poll is worth than Value says, as an edit of many pages may
// have changed the page besides, with probability edited. back is the rate at which pages become
// stale otherwise than by their own rates. Not for a worth with Chance set.
//
// A page at rate λ that changed with probability p, however that is known, is worth Gain(p)/λ under
// Freshness, and one with N changes is worth N²/(2λ) under Delay. With p₀ by its own rate and the
// probability a of an edit that is Gain(a + (1−a)·p₀) − Gain(p₀) = (1−p₀)·(a·λτ + Gain(a)) more,
// and (N+a)² − N² = 2·a·N + a². A page of which the rate is hardly known would be worth any amount,
// if it were not stale again at the rate back.
func (m *Model) Edited(b *View, gap, counts, edited, back float64) float64 {
	gain := Gain(edited)
	var stays Row
	m.survive.read(&stays, gridAt(m.slowestRate(), counts))
	if m.worth.Plain {
		gain = edited * edited / 2
	}
	var worth Row
	landed, rate := 0.0, m.Rate(0)
	for k := range stays {
		stay := stays[k]
		land := 1.0 / Cells
		if m.worth.Plain {
			stay, land = 1/(1+float64(rate*counts/m.worth.Many)), m.land[k]
		}
		x := stay * (float64(edited*rate*counts) + gain)
		for range m.worth.Power {
			x /= rate + back
		}
		worth[k] = x
		landed += float64(land * x)
		rate *= growth
	}
	return m.mean(b, &worth, landed, gap)
}
