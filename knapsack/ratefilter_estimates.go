package knapsack

import (
	"fmt"
	"math"
)

// ObserveAll is Observe where every change since the last answer is known, from
// a history, a feed or a push: times are their times, in order, after the last
// answer and not after now. Each sharpens the posterior by the density λ·e^(−λτ)
// of its gap.
func (f *RateFilter) ObserveAll(page int, now float64, times []float64) error {
	slot, err := f.slot(page)
	if err != nil {
		return err
	}
	before := f.last(&f.pages[slot])
	for i, t := range times {
		if !(t > before && t <= now) {
			return fmt.Errorf("%w: page %d: change %d at %v, after %v and up to %v", ErrTime, page, i, t, before, now)
		}
		before = t
	}
	if _, err := f.answer(page, now); err != nil {
		return err
	}
	gap := f.gap(slot, now)
	if gap > 0 {
		f.unpack(uint32(slot))
		f.predicted(slot, gap, len(times) > 0)
		before := f.last(&f.pages[slot]) // now − gap may round to after a change
		for _, t := range times {
			f.learn(t-before, false)
			f.happened()
			before = t
		}
		if now > before {
			f.learn(now-before, false)
		}
		f.store(slot, gap)
	}
	f.answered(slot, now, gap)
	return nil
}

// happened multiplies f.belief by the density of a change at a known time.
func (f *RateFilter) happened() {
	var density [rateCells]float64
	for k := range density {
		density[k] = math.Exp(rateStep * float64(k-rateCells/2))
	}
	f.belief.times(&density)
}

// A RateEstimate is a posterior of a change rate, in changes per unit of time.
type RateEstimate struct {
	Mean              float64
	Low, Median, High float64 // quantiles 10 %, 50 % and 90 %
}

// Rate returns what is believed of the rate at which a page changed when it was
// last answered, the rates of the other pages taken as the prior. Where a page has changed at
// each of a few polls, the mean is that of a long tail, and the median tells more. It is
// the zero estimate as long as the time scale is not known.
func (f *RateFilter) Rate(page int) (RateEstimate, error) {
	slot, err := f.slot(page)
	if err != nil || !(f.cycle > 0) {
		return RateEstimate{}, err
	}
	f.unpack(uint32(slot))
	f.census.inform(&f.belief)
	x := f.belief.marginal(0)
	est := RateEstimate{Low: f.quantile(&x, 0.1), Median: f.quantile(&x, 0.5), High: f.quantile(&x, 0.9)}
	for k, w := range x {
		est.Mean += float64(w * f.rateOf(float64(k)))
	}
	return est, nil
}

// rateOf returns the rate at a place of the grid.
func (f *RateFilter) rateOf(k float64) float64 { return math.Exp(rateStep * (k + f.slowestRate())) }

// quantile returns a quantile of the rate, the probability of a cell spread over
// its width.
func (f *RateFilter) quantile(x *[rateCells]float64, q float64) float64 {
	for k, w := range x {
		if q <= w || k == rateCells-1 {
			return f.rateOf(float64(k) - 0.5 + min(1, q/max(w, math.SmallestNonzeroFloat64)))
		}
		q -= w
	}
	panic("unreachable")
}

// ShadowPrice returns what one more poll would be worth at present: the level of
// the index at which pages are polled, in the objective's unit times weight. It
// is 0 before the time scale is known.
func (f *RateFilter) ShadowPrice() float64 { return f.threshold }

// PollsForFreshness returns the number of polls per unit of time with which the
// best schedule would keep the share freshness of all copies current, were the
// rates those that pages are believed to have, over all pages and the recent
// past. Weights and limits are left out of account. It costs O(1), and
// is an error as long as no page has been observed.
func (f *RateFilter) PollsForFreshness(freshness float64) (float64, error) {
	if !(freshness > 0 && freshness < 1) {
		return 0, fmt.Errorf("%w: freshness %v is not between 0 and 1", ErrConfig, freshness)
	}
	var share [rateCells]float64
	total := 0.0
	for c := range f.census.share {
		for k, s := range f.census.share[c] {
			share[k] += s
			total += s
		}
	}
	if !(total > 0) {
		return 0, fmt.Errorf("%w: nothing has been observed", ErrConfig)
	}
	slope := slopes[Freshness][Even]
	at := func(price float64) (fresh, polls float64) {
		for k, s := range share {
			rate := f.rateOf(float64(k))
			if price*rate >= 1 {
				continue // changes too fast to be worth a poll
			}
			x := rate / slope.inverse(price*rate, -math.Log1p(-price*rate))
			fresh += s / total * Freshness.Value(Even, rate, x)
			polls += s / total * x
		}
		return fresh, polls
	}
	lo, hi := -700.0, 700.0 // log price: freshness falls with it
	for range 100 {
		mid := (lo + hi) / 2
		if fresh, _ := at(math.Exp(mid)); fresh > freshness {
			lo = mid
		} else {
			hi = mid
		}
	}
	_, polls := at(math.Exp(lo))
	return polls * float64(f.ids.Len()), nil
}
