package knapsack

import (
	"fmt"
	"math"
)

// signals holds hints that pages have changed, and how good they have proved.
// All is empty until the first one.
type signals struct {
	pending []uint64 // bit per slot: a hint came since the last answer
	// counts[s][c] counts answers with (s = 1) and without a hint before them
	// that found a change (c = 1) or none.
	counts [2][2]float64
}

func (s *signals) on() bool { return s.pending != nil }

func (s *signals) grow(slots int) {
	if s.on() && len(s.pending)*64 < slots {
		s.pending = append(s.pending, 0)
	}
}

func (s *signals) clear(slot int) {
	if s.on() {
		s.pending[slot/64] &^= 1 << (slot % 64)
	}
}

func (s *signals) has(slot int) int { return int(s.pending[slot/64] >> (slot % 64) & 1) }

// score takes in the answer of a poll.
func (s *signals) score(slot int, changed bool) {
	c := 0
	if changed {
		c = 1
	}
	s.counts[s.has(slot)][c]++
	s.clear(slot)
}

// recall and falseAlarm are the probabilities of a hint before an answer that
// finds a change, and before one that finds none. A hint is worth something
// before anything is known: the priors have the mean 1/2 and 1/20.
func (s *signals) recall() float64 {
	return (s.counts[1][1] + 1) / (s.counts[1][1] + s.counts[0][1] + 2)
}

func (s *signals) falseAlarm() float64 {
	return (s.counts[1][0] + 0.1) / (s.counts[1][0] + s.counts[0][0] + 2)
}

// telling says whether hints tell pages apart.
func (s *signals) telling() bool { return s.on() && s.recall() > 2*s.falseAlarm() }

// signalled corrects the value of a poll for hints, or their absence, by Bayes's
// rule on the probability of a change.
func (f *RateFilter) signalled(slot uint32, gap, value float64) float64 {
	p := value
	if f.objective != Detections {
		f.unpack(slot)
		f.census.inform(&f.belief)
		p = f.changeProbability(gap)
	}
	p = min(p, 1)
	yes, no := f.signals.recall(), f.signals.falseAlarm()
	if f.signals.has(int(slot)) == 0 {
		yes, no = 1-yes, 1-no
	}
	if !(p > 0) {
		return value
	}
	return value * yes / (p*yes + (1-p)*no)
}

// changeProbability returns the probability that the page in f.belief has
// changed within gap.
func (f *RateFilter) changeProbability(gap float64) float64 {
	x := f.belief.marginal(gap / f.cycle)
	p := 0.0
	for k, stay := range survive().read(gridAt(f.slowestRate(), gap)) {
		p += float64(x[k] * (1 - stay))
	}
	return p
}

// Signal hints that a page changed at time at: somebody linked to it anew, a
// feed mentions it, its sitemap entry moved. Hints may be wrong, and changes may
// come without; how often is learnt from the polls that follow, over all pages,
// and used from the first hint on. One that is older than the page's last
// answer is ignored; one that comes during a flight counts for its answer.
// O(log n); the first call takes O(n), and a bit a page.
func (f *RateFilter) Signal(page int, at float64) error {
	slot, err := f.slot(page)
	if err != nil {
		return err
	}
	if math.IsNaN(at) || math.IsInf(at, 0) {
		return fmt.Errorf("%w: signal for page %d at %v", ErrTime, page, at)
	}
	if f.pages[slot].polled >= at {
		return nil
	}
	if !f.signals.on() {
		f.signals.pending = make([]uint64, len(f.pages)/64+1)
	}
	f.signals.pending[slot/64] |= 1 << (slot % 64)
	f.refresh(uint32(slot))
	return nil
}

// SignalQuality returns what has been learnt of signals: the probability that an
// answer with a hint before it finds a change, and that one that finds a change
// has had a hint before it; NaN where there were none.
func (f *RateFilter) SignalQuality() (precision, recall float64) {
	c := &f.signals.counts
	return c[1][1] / (c[1][0] + c[1][1]), c[1][1] / (c[0][1] + c[1][1])
}
