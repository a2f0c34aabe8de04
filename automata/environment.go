package automata

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// An Environment answers actions with rewards in [0, 1]. The environments of this package are for
// trying automata out. The stationary ones are [NewPModel], [NewQModel] and [NewSModel]: their mean
// rewards never change. [NewPeriodic] and [NewMarkov] switch between several environments.
type Environment interface {
	// Actions returns the number of actions.
	Actions() int
	// Respond returns the reward of an action. It panics if there is no such action or src
	// is nil.
	Respond(action int, src rand.Source) float64
}

// model is a stationary environment.
type model struct {
	means []float64
	steps int     // trials of a Q-model, 1 for a P-model, 0 for an S-model
	width float64 // of an S-model
}

// NewPModel returns an environment that answers action i with 1 (probability means[i]) or 0.
func NewPModel(means ...float64) (Environment, error) { return NewQModel(1, means...) }

// NewQModel returns an environment that answers action i with 0, 1/steps, …, or 1. The answer is
// the share of successes among steps independent trials, each with success probability means[i].
// Respond takes O(steps).
func NewQModel(steps int, means ...float64) (Environment, error) {
	if err := checkInt("steps", steps, 1, maxStates); err != nil {
		return nil, err
	}
	return newModel(steps, 0, means)
}

// NewSModel returns an environment that answers action i with a number drawn uniformly from
// means[i] ± width. That interval must lie in [0, 1].
func NewSModel(width float64, means ...float64) (Environment, error) {
	return newModel(0, width, means)
}

func newModel(steps int, width float64, means []float64) (Environment, error) {
	if err := checkActions(len(means)); err != nil {
		return nil, err
	}
	if err := checkMeans(means); err != nil {
		return nil, err
	}
	for i, d := range means {
		if !(width >= 0 && d-width >= 0 && d+width <= 1) {
			return nil, fmt.Errorf("%w: action %d: %v ± %v is not in [0, 1]", ErrReward, i, d, width)
		}
	}
	return &model{slices.Clone(means), steps, width}, nil
}

// Actions returns the number of actions.
func (m *model) Actions() int { return len(m.means) }

// Respond answers as the response model does.
func (m *model) Respond(action int, src rand.Source) float64 {
	checkSource(src)
	mean := m.means[action]
	if m.steps == 0 {
		return min(1, mean+float64(m.width*(2*uniform(src)-1)))
	}
	won := 0
	for range m.steps {
		if uniform(src) < mean {
			won++
		}
	}
	return float64(won) / float64(m.steps)
}

// switching is one of several environments at a time.
type switching struct {
	environments []Environment
	period       int         // of a periodic one; 0 for a Markov one
	transition   [][]float64 // of a Markov one
	current, age int
}

// NewPeriodic returns an environment that acts as environments[0] for period answers, then as the
// next one for as many, and so on in a circle.
func NewPeriodic(period int, environments ...Environment) (Environment, error) {
	if err := checkInt("period", period, 1, maxStates); err != nil {
		return nil, err
	}
	if err := checkSame(environments); err != nil {
		return nil, err
	}
	return &switching{environments: slices.Clone(environments), period: period}, nil
}

// NewMarkov returns an environment that starts as environments[0]. After each answer as number i it
// becomes number j with probability transition[i][j].
func NewMarkov(transition [][]float64, environments ...Environment) (Environment, error) {
	if err := checkSame(environments); err != nil {
		return nil, err
	}
	if len(transition) != len(environments) {
		return nil, fmt.Errorf("%w: %d rows of transitions for %d environments", ErrConfig, len(transition), len(environments))
	}
	rows := make([][]float64, len(transition))
	for i, row := range transition {
		if len(row) != len(environments) {
			return nil, fmt.Errorf("%w: row %d has %d transitions for %d environments", ErrConfig, i, len(row), len(environments))
		}
		sum := 0.0
		for j, p := range row {
			if !(p >= 0 && p <= 1) {
				return nil, fmt.Errorf("%w: transition %d→%d has probability %v", ErrConfig, i, j, p)
			}
			sum += p
		}
		if !(sum > 1-1e-9 && sum < 1+1e-9) {
			return nil, fmt.Errorf("%w: transitions from %d sum to %v", ErrConfig, i, sum)
		}
		rows[i] = slices.Clone(row)
	}
	return &switching{environments: slices.Clone(environments), transition: rows}, nil
}

func checkSame(environments []Environment) error {
	if len(environments) == 0 {
		return fmt.Errorf("%w: no environments", ErrConfig)
	}
	for i, e := range environments {
		if e == nil {
			panic(fmt.Sprintf("automata: environment %d is nil", i))
		}
		if want := environments[0].Actions(); e.Actions() != want {
			return fmt.Errorf("%w: environment %d has %d actions, the first %d", ErrConfig, i, e.Actions(), want)
		}
	}
	return nil
}

// Actions returns the number of actions.
func (m *switching) Actions() int { return m.environments[0].Actions() }

// Respond answers as the current environment, which may then change.
func (m *switching) Respond(action int, src rand.Source) float64 {
	reward := m.environments[m.current].Respond(action, src)
	if m.period > 0 {
		m.age++
		if m.age == m.period {
			m.age = 0
			m.current = (m.current + 1) % len(m.environments)
		}
	} else {
		m.current = vector(m.transition[m.current]).draw(src)
	}
	return reward
}
