package automata

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// An Environment answers actions with rewards in [0, 1]. Those of this package are
// for trying automata out.
type Environment interface {
	// Actions returns the number of actions.
	Actions() int
	// Respond returns the reward of an action. It panics if there is no such
	// action or src is nil.
	Respond(action int, src rand.Source) float64
	// Means returns the mean reward that each action has at present. The caller
	// must not change it.
	Means() []float64
}

// A PModel is a stationary environment with answers 0 and 1.
type PModel struct{ means []float64 }

// NewPModel returns an environment that answers action i with 1 with probability
// means[i], and with 0 otherwise.
func NewPModel(means ...float64) (*PModel, error) {
	if err := checkEnvironment(means); err != nil {
		return nil, err
	}
	return &PModel{slices.Clone(means)}, nil
}

func checkEnvironment(means []float64) error {
	if err := checkActions(len(means)); err != nil {
		return err
	}
	return checkMeans(means)
}

// Actions returns the number of actions.
func (m *PModel) Actions() int { return len(m.means) }

// Means returns the mean reward of each action; the caller must not change it.
func (m *PModel) Means() []float64 { return m.means }

// Respond answers 0 or 1.
func (m *PModel) Respond(action int, src rand.Source) float64 {
	checkSource(src)
	if uniform(src) < m.means[action] {
		return 1
	}
	return 0
}

// A QModel is a stationary environment with a finite number of answers.
type QModel struct {
	PModel
	steps int
}

// NewQModel returns an environment that answers with 0, 1/steps, …, 1: the share of
// steps independent trials that succeed, each with probability means[i].
func NewQModel(steps int, means ...float64) (*QModel, error) {
	p, err := NewPModel(means...)
	if err != nil {
		return nil, err
	}
	if err := checkStates(steps); err != nil {
		return nil, err
	}
	return &QModel{*p, steps}, nil
}

// Respond answers with the share of trials that succeed, in O(steps).
func (m *QModel) Respond(action int, src rand.Source) float64 {
	won := 0.0
	for range m.steps {
		won += m.PModel.Respond(action, src)
	}
	return won / float64(m.steps)
}

// An SModel is a stationary environment with answers from an interval.
type SModel struct {
	means []float64
	width float64
}

// NewSModel returns an environment that answers action i with a number uniform in
// means[i] ± width, which must lie in [0, 1].
func NewSModel(width float64, means ...float64) (*SModel, error) {
	if err := checkEnvironment(means); err != nil {
		return nil, err
	}
	for i, d := range means {
		if !(width >= 0 && d-width >= 0 && d+width <= 1) {
			return nil, fmt.Errorf("%w: action %d: %v ± %v is not in [0, 1]", ErrReward, i, d, width)
		}
	}
	return &SModel{slices.Clone(means), width}, nil
}

// Actions returns the number of actions.
func (m *SModel) Actions() int { return len(m.means) }

// Means returns the mean reward of each action; the caller must not change it.
func (m *SModel) Means() []float64 { return m.means }

// Respond answers with a number in means[action] ± width.
func (m *SModel) Respond(action int, src rand.Source) float64 {
	checkSource(src)
	return min(1, m.means[action]+float64(m.width*(2*uniform(src)-1)))
}

// A Switching environment is one of several at a time, and may change to another
// before each answer.
type Switching struct {
	environments []Environment
	period       int         // of a periodic one; 0 for a Markov one
	transition   [][]float64 // of a Markov one
	current, age int
}

// NewPeriodic returns an environment that is environments[0] for period answers,
// then the next one for as many, and so on in a circle.
func NewPeriodic(period int, environments ...Environment) (*Switching, error) {
	if err := checkStates(period); err != nil {
		return nil, err
	}
	if err := checkSame(environments); err != nil {
		return nil, err
	}
	return &Switching{environments: slices.Clone(environments), period: period}, nil
}

// NewMarkov returns an environment that starts as environments[0] and, after each
// answer in which it was number i, becomes number j with probability
// transition[i][j].
func NewMarkov(transition [][]float64, environments ...Environment) (*Switching, error) {
	if err := checkSame(environments); err != nil {
		return nil, err
	}
	if len(transition) != len(environments) {
		return nil, fmt.Errorf("%w: %d rows of transitions for %d environments", ErrParameter, len(transition), len(environments))
	}
	rows := make([][]float64, len(transition))
	for i, row := range transition {
		if len(row) != len(environments) {
			return nil, fmt.Errorf("%w: row %d has %d transitions for %d environments", ErrParameter, i, len(row), len(environments))
		}
		sum := 0.0
		for j, p := range row {
			if !(p >= 0 && p <= 1) {
				return nil, fmt.Errorf("%w: transition %d→%d has probability %v", ErrParameter, i, j, p)
			}
			sum += p
		}
		if !(sum > 1-1e-9 && sum < 1+1e-9) {
			return nil, fmt.Errorf("%w: transitions from %d sum to %v", ErrParameter, i, sum)
		}
		rows[i] = slices.Clone(row)
	}
	return &Switching{environments: slices.Clone(environments), transition: rows}, nil
}

func checkSame(environments []Environment) error {
	if len(environments) == 0 {
		return fmt.Errorf("%w: no environments", ErrParameter)
	}
	for i, e := range environments {
		if want := environments[0].Actions(); e.Actions() != want {
			return fmt.Errorf("%w: environment %d has %d actions, the first %d", ErrParameter, i, e.Actions(), want)
		}
	}
	return nil
}

// Actions returns the number of actions.
func (m *Switching) Actions() int { return m.environments[0].Actions() }

// Means returns the mean rewards of the current environment; the caller must not
// change it.
func (m *Switching) Means() []float64 { return m.environments[m.current].Means() }

// Current returns the number of the current environment.
func (m *Switching) Current() int { return m.current }

// Respond answers as the current environment, which may then change.
func (m *Switching) Respond(action int, src rand.Source) float64 {
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
