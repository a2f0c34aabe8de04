package knapsack

import (
	"github.com/recrawl/recrawl/knapsack/internal/belief"
)

// A RateEstimate is a posterior of a change rate, in changes per unit of time.
type RateEstimate struct {
	Mean              float64
	Low, Median, High float64 // quantiles 10 %, 50 % and 90 %
}

// Rate returns the estimate of a page's change rate at its last answer, with the rates of the other
// pages as the prior. If a page has changed at each of a few polls, the mean is that of a long
// tail, and the median tells more. It is the zero estimate until the time scale is known.
func (f *RateFilter) Rate(page int) (RateEstimate, error) {
	slot, err := f.slot(page)
	if err != nil || !f.model.Known() {
		return RateEstimate{}, err
	}
	b := f.belief(slot)
	if told := f.early[uint32(slot)]; told != nil {
		f.learnEarly(&b, told, uint32(slot))
	}
	b.Inform(f.census.Prior.Factor())
	x := b.Marginal(0)
	return RateEstimate{
		Mean:   f.model.Mean(&x),
		Low:    f.model.Quantile(&x, 0.1),
		Median: f.model.Quantile(&x, 0.5),
		High:   f.model.Quantile(&x, 0.9),
	}, nil
}

// belief returns the belief about a page and leaves the packed one as it is: that follows the grid of
// rates when it is unpacked, and queries are to change nothing.
func (f *RateFilter) belief(slot int) (b belief.Belief) {
	packed := f.beliefs[slot]
	f.model.Unpack(&packed, &b)
	return b
}

// Price returns what one more poll would be worth at present: the index at which pages are polled,
// in the objective's unit times weight, and per unit of cost after a SetCost. It is 0 until the time
// scale is known.
func (f *RateFilter) Price() float64 { return f.threshold }

// SignalQuality returns what has been learnt of the signals of a source. precision is the share of
// answers that found a change, among the answers that followed a signal. recall is the share of
// answers that followed a signal, among those that found a change. Each is NaN where there were no
// such answers.
func (f *RateFilter) SignalQuality(source int) (precision, recall float64) {
	return f.hints.Quality(source)
}
