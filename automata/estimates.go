package automata

import (
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

const (
	// defaultPriming is how often the experiments of the literature pull each action before an
	// estimator scheme starts to choose (Oommen & Agache 2001).
	defaultPriming = 10
	maxPriming     = 1 << 10
	maxPulls       = 1 << 53 // whole numbers are exact below
)

// estimates holds the mean reward of each action so far, and hands out the pulls of the priming.
//
// During the priming the actions are selected in turn, and answers change only the estimates.
// Select counts the pulls handed out and Learn counts the answers. So answers that are late or lost
// neither end the priming early nor block it.
type estimates struct {
	sum     []float64 // of the rewards of each action
	pulls   []float64 // answers of each action, a whole number
	mean    []float64 // sum/pulls, 0 for an action without an answer
	priming int       // pulls of each action
	asked   int       // priming pulls handed out, up to priming·r
	owed    int       // answers until priming is over
}

// newEstimates returns empty estimates; priming 0 stands for the default.
func newEstimates(actions, priming int) (estimates, error) {
	if priming == 0 {
		priming = defaultPriming
	}
	if err := checkActions(actions); err != nil {
		return estimates{}, err
	}
	if err := checkInt("priming", priming, 1, maxPriming); err != nil {
		return estimates{}, err
	}
	return estimates{
		sum:     make([]float64, actions),
		pulls:   make([]float64, actions),
		mean:    make([]float64, actions),
		priming: priming,
		owed:    priming * actions,
	}, nil
}

// Estimate returns the mean reward of an action so far, 0 before the first answer, and the number
// of answers behind it.
func (t *estimates) Estimate(action int) (mean float64, answers int) {
	return t.mean[action], int(t.pulls[action])
}

// prime returns the next action of the priming, if it is not over.
func (t *estimates) prime(src rand.Source) (action int, ok bool) {
	checkSource(src)
	if t.asked == t.priming*len(t.mean) {
		return 0, false
	}
	action = t.asked % len(t.mean)
	t.asked++
	return action, true
}

// update takes an answer. It reports whether priming was over before it.
func (t *estimates) update(action int, reward float64) (primed bool) {
	t.sum[action] += reward
	t.pulls[action]++
	t.mean[action] = t.sum[action] / t.pulls[action] // exact ties stay ties
	if t.owed > 0 {
		t.owed--
		return false
	}
	return true
}

// countBetter returns K, the number of actions with a better estimate than the given one.
func (t *estimates) countBetter(action int) int {
	k := 0
	for _, m := range t.mean {
		if m > t.mean[action] {
			k++
		}
	}
	return k
}

// argmax returns the last index of the greatest value. The environments of the literature put the
// best action first, so to return the first index would flatter a scheme.
func argmax(v []float64) int {
	best, greatest := 0, v[0]
	for i, x := range v {
		if x >= greatest {
			best, greatest = i, x
		}
	}
	return best
}

func (t *estimates) encode(e *codec.Encoder) {
	e.Int(t.priming)
	e.Int(t.asked)
	e.Float64s(t.sum)
	e.Float64s(t.pulls)
}

// decodeEstimates reads the estimates of the given number of actions.
func decodeEstimates(d *codec.Decoder, actions int) estimates {
	priming := d.IntIn(1, maxPriming)
	asked := d.IntIn(0, priming*actions)
	sum, pulls := d.Float64sIn(actions, 0, maxPulls), d.Float64sIn(actions, 0, maxPulls-1)
	if d.Err() != nil {
		return estimates{}
	}
	t, err := newEstimates(actions, priming)
	if err != nil {
		d.Check(err)
		return estimates{}
	}
	t.asked, t.sum, t.pulls = asked, sum, pulls
	for i, n := range pulls {
		if n != math.Floor(n) || sum[i] > n {
			d.Fail("action %d has a reward of %v in %v pulls", i, sum[i], n)
			return estimates{}
		}
		if n > 0 {
			t.mean[i] = sum[i] / n
		}
		t.owed -= int(min(n, float64(t.owed)))
	}
	return t
}
