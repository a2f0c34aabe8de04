package knapsack

import "github.com/recrawl/recrawl/internal/ablation"

// hasSequels reports whether what finds lead to counts. For other objectives than Detections it was not tried.
func (f *RateFilter) hasSequels() bool {
	return f.objective == Detections && f.without&ablation.Sequel == 0
}

// follow learns what finds lead to from what a poll found a time gap after the last answer. A page that hints
// lead to is polled for these, and one without weight earns nothing.
func (f *RateFilter) follow(slot uint32, gap float64, changed bool) {
	if !f.hasSequels() {
		return
	}
	weight := f.weight(slot)
	if !(weight > 0) || f.hints.Led(int(slot)) {
		f.leave(slot)
		return
	}
	chance := func() float64 {
		var t tempo
		t.tell(f, slot)
		mean, _ := f.mean(&t.view, gap, gap*t.multiplier, f.past(slot, f.last(slot), gap))
		return mean
	}
	price := min(1, f.threshold*f.cost(slot)/weight)
	f.trails[slot] = f.census.Sequel.Learn(f.trails[slot], gap/f.model.Cycle(), changed, chance, f.touched.has(slot), price, f.ids.Len(), f.answers)
}

// leave follows a page no longer: it is new, or has been learnt of otherwise than by polls that are due to
// what they are worth.
func (f *RateFilter) leave(slot uint32) {
	if f.objective == Detections {
		f.trails[slot] = 0
	}
}
