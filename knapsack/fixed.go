package knapsack

import (
	"fmt"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/pick"
)

// Fixed polls pages at given frequencies and learns nothing. Next gives the page to poll,
// SetFrequency changes a frequency. Take it for frequencies of your own or of Problem.Optimal, or
// as a baseline: with the same frequency for every page it is the uniform policy, and with the
// probabilities of a change as frequencies the proportional policy, of Granmo et al. 2006, section
// III.C (go run ./examples/papers -only granmo).
//
// A page that is added has frequency 0 and is not polled before SetFrequency. Only the proportions
// of the frequencies count. How many polls there are is up to the caller of Next. With Even spacing
// it polls the page with the greatest (now − last)·x, the one most overdue in units of its own
// interval 1/x. With Random spacing it draws each poll's page with probability proportional to x,
// as the scheduler of Granmo et al. 2006, section II, does.
//
// # Guarantees
//
// With Even spacing the gaps of a page are mostly within half of their mean, and nearer to it the
// longer they are. The shares of the polls are about those of the frequencies: pages that are due
// every few polls get less, as their gaps are whole numbers of polls, and the others more. Beside 300
// pages one that has .6 of the sum of all frequencies gets .5 of the polls, and the others get 1.25
// times their shares. Where no page has more than .05 of the sum, shares are within a sixth. Random
// spacing keeps them in the mean.
//
// A poll given back counts as made, so that a page that never answers gets no more than its share.
//
// # Cost
//
// Time: O(log n) for Next and Observe; Even adds O(log² n) amortised for time that passes.
// Memory: 29 bytes a page with Even spacing, 25 with Random. Polls allocate nothing.
type Fixed struct{ scheduled }

var _ Learner = (*Fixed)(nil)

// NewFixed returns a Fixed of the pages 0..len(x)−1 that polls page i at frequency x[i], 0 to
// 1e290. src is used for Random spacing only and may be nil for Even.
func NewFixed(x []float64, spacing Spacing, src rand.Source) (*Fixed, error) {
	if err := spacingNames.Check(spacing); err != nil {
		return nil, err
	}
	for i, xi := range x {
		if err := checkFrequency(i, xi); err != nil {
			return nil, err
		}
	}
	f := &Fixed{newScheduled(len(x), spacing, src)}
	for i, xi := range x {
		f.roster.Set(i, xi)
	}
	return f, nil
}

func checkFrequency(page int, x float64) error {
	if !(x >= 0 && x <= pick.MostFrequency) {
		return fmt.Errorf("%w: page %d: frequency %v", ErrConfig, page, x)
	}
	return nil
}

// Observe implements Scheduler.
func (f *Fixed) Observe(page int, now float64, _ bool) error { return f.GiveBack(page, now) }

// SetFrequency changes the frequency of a page, to 0 to 1e290, in O(log n).
func (f *Fixed) SetFrequency(page int, x float64) error {
	slot, err := f.slot(page)
	if err == nil {
		err = checkFrequency(page, x)
	}
	if err == nil {
		f.roster.Set(slot, x)
	}
	return err
}

var fixedFormat = codec.Format{Magic: "recrawl/knapsack.Fixed", Version: 1}

// MarshalBinary returns the state, source included.
func (f *Fixed) MarshalBinary() ([]byte, error) { return fixedFormat.Save(f.encode) }

// UnmarshalBinary restores what MarshalBinary saved. The receiver may be the zero value.
func (f *Fixed) UnmarshalBinary(data []byte) error {
	return codec.Load(f, fixedFormat, data, (*Fixed).decode)
}
