package automata

import (
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

// bayesian is Thompson sampling.
type bayesian struct {
	estimates // never primed: the prior does that
}

var bayesianFormat = codec.Format{Magic: "recrawl/automata.Bayesian", Version: 1}

// NewBayesian returns a Bayesian automaton of r ≥ 2 actions, known elsewhere as Thompson sampling.
// Take it if the rewards earned while learning matter more than being sure soon. It has no
// parameter and no priming.
//
// For each action it holds the Beta distribution of the mean reward, from a uniform prior. Select
// draws a value from each distribution and returns the action with the greatest one, so it selects
// every action with the probability that the action is the best. Learn counts the reward: a reward
// x between 0 and 1 adds x to the rewards and 1 − x to the penalties.
//
// # Guarantees
//
// With rewards of 0 and 1 the regret grows with the logarithm of time, at the best possible rate
// (Kaufmann, Korda & Munos 2012).
//
// Probability is computed by a quadrature. Its error is about 1e-7 up to 1e8 answers of an action,
// and 1e-5 up to 1e10. Converged looks only at the action with the greatest posterior mean. If
// another action has a probability slightly above 1/2, Converged does not report it.
//
// # Cost
//
// Time: O(r) for Select, O(1) for Learn. Probability and Converged evaluate an incomplete beta
// function 256·r times, each time in O(√n) for n answers. They do so once more for each action that
// has many more answers than the one asked about, and that it may still beat. Memory: 24 bytes an
// action.
//
// # Source
//
// Thompson 1933; as a learning automaton Granmo 2010.
func NewBayesian(actions int) (Estimator, error) {
	t, err := newEstimates(actions, 1)
	if err != nil {
		return nil, err
	}
	return &bayesian{t}, nil
}

// Actions returns r.
func (a *bayesian) Actions() int { return len(a.mean) }

// Select draws a value from the distribution of each action and returns the action with the
// greatest one.
func (a *bayesian) Select(src rand.Source) int {
	checkSource(src)
	best, most := 0, -1.0
	for i := range a.mean {
		if v := a.posterior(i).draw(src); v > most {
			best, most = i, v
		}
	}
	return best
}

// Learn counts the reward. It draws nothing from src.
func (a *bayesian) Learn(action int, reward float64, src rand.Source) error {
	if err := checkAnswer(action, len(a.mean), reward, src); err != nil {
		return err
	}
	a.update(action, reward)
	return nil
}

// Probability returns the probability that Select returns the action, which is the probability that
// the action is the best:
//
//	∫ f_i(x)·Π_{j≠i} F_j(x) dx
//
// by a quadrature.
func (a *bayesian) Probability(action int) float64 {
	low, high := a.posterior(action).span()
	narrow := (high - low) / narrowFrom
	for j := range a.mean {
		from, _ := a.posterior(j).span() // below, the integrand is next to nothing
		low = max(low, from)
	}
	sum := 0.0
	for low < high {
		// Where a narrow distribution ends, so does a piece: its F_j hardly changes any more. So no
		// piece is much longer than the spans of the distributions that change in it.
		end := high
		for j := range a.mean {
			if from, to := a.posterior(j).span(); to > low && to < end && to-from < narrow {
				end = to
			}
		}
		sum += a.integral(action, low, end)
		low = end
	}
	return min(1, sum)
}

// narrowFrom is how many times as narrow as that of the action another distribution must be for a
// piece of its own. With less, the grid of the action's own distribution is fine enough.
const narrowFrom = 3

// integral returns the integral of Probability from low to high, by Simpson's rule.
func (a *bayesian) integral(action int, low, high float64) float64 {
	const intervals = 256
	// The substitution x = low + (high − low)·t³(10 − 15t + 6t²) for t in [0, 1] smooths the ends,
	// where the density may have an infinite slope.
	at := func(k int) float64 {
		t := float64(k) / intervals
		x := low + float64((high-low)*t*t*t*(10-float64(15*t)+float64(6*t*t)))
		return min(max(x, 0x1p-1022), 1-0x1p-53) // the density is finite there
	}
	var v [intervals + 1]float64
	p := a.posterior(action)
	scale := p.logScale()
	for k := range v {
		t := float64(k) / intervals
		v[k] = p.density(at(k), scale) * 30 * t * t * (1 - t) * (1 - t) * (high - low)
	}
	for j := range a.mean {
		if j == action {
			continue
		}
		q := a.posterior(j)
		scale := q.logScale()
		for k := range v {
			v[k] *= q.cdf(at(k), scale)
		}
	}
	sum := v[0] + v[intervals]
	for k := 1; k < intervals; k++ {
		sum += float64(2+2*(k%2)) * v[k]
	}
	return sum / (3 * intervals)
}

// Converged implements Distribution: see NewBayesian.
func (a *bayesian) Converged(threshold float64) (action int, ok bool) {
	checkThreshold(threshold)
	most := math.Inf(-1)
	for i := range a.mean {
		if m := a.posterior(i).mean(); m > most {
			action, most = i, m
		}
	}
	return action, a.Probability(action) >= threshold
}

// MarshalBinary returns the saved state.
func (a *bayesian) MarshalBinary() ([]byte, error) { return bayesianFormat.Save(a.encode) }

// UnmarshalBinary restores a saved state; after an error the automaton is as it was.
func (a *bayesian) UnmarshalBinary(data []byte) error {
	return codec.Load(a, bayesianFormat, data, (*bayesian).decode)
}

func (a *bayesian) encode(e *codec.Encoder) {
	e.Int(len(a.mean))
	a.estimates.encode(e)
}

func (a *bayesian) decode(d *codec.Decoder) {
	a.estimates = decodeEstimates(d, d.IntIn(2, maxActions))
}
