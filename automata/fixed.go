package automata

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

// chain is what the automata of fixed structure share: r actions with N states
// each, of which state 1 is the innermost and N the boundary. The automaton is in
// one state of one action, and selects that action.
//
//	action 0:  1 – 2 – … – N ┐
//	action 1:  1 – 2 – … – N ┤ a penalty at N leads to N of the next action
//	action r−1: 1 – 2 – … – N ┘ (in cyclic order)
//
// By the symmetry of the crossing every boundary is crossed equally often in the
// long run, whatever the order of the actions.
type chain struct {
	actions, states int
	action, state   int
}

func newChain(actions, states int) (chain, error) {
	if err := checkActions(actions); err != nil {
		return chain{}, err
	}
	if err := checkStates(states); err != nil {
		return chain{}, err
	}
	return chain{actions: actions, states: states, state: states}, nil
}

// Actions returns r.
func (c *chain) Actions() int { return c.actions }

// States returns N, the number of states of each action.
func (c *chain) States() int { return c.states }

// State returns the current action and its state in 1..N; 1 is the innermost, N
// the boundary.
func (c *chain) State() (action, state int) { return c.action, c.state }

// Select returns the current action. It draws nothing from src.
func (c *chain) Select(src rand.Source) int {
	checkSource(src)
	return c.action
}

// inward moves one state away from the boundary.
func (c *chain) inward() { c.state = max(c.state-1, 1) }

// outward moves one state towards the boundary, and at the boundary to that of
// the next action.
func (c *chain) outward() {
	switch {
	case c.state < c.states:
		c.state++
	case c.action == c.actions-1:
		c.action = 0
	default:
		c.action++
	}
}

func (c *chain) appendBinary(b []byte, magic string) ([]byte, error) {
	e := codec.NewEncoder(b, magic, 1)
	e.Int(c.actions)
	e.Int(c.states)
	e.Int(c.action)
	e.Int(c.state)
	return e.Finish()
}

func (c *chain) unmarshal(data []byte, magic string) error {
	d, err := codec.NewDecoder(data, magic, 1)
	if err != nil {
		return err
	}
	actions, states := d.Int(), d.Int()
	action, state := d.Int(), d.Int()
	if err := d.Done(); err != nil {
		return err
	}
	v, err := newChain(actions, states)
	if err != nil {
		d.Fail("%v", err)
	} else if action < 0 || action >= actions || state < 1 || state > states {
		d.Fail("state %d of action %d; there are %d of %d", state, action, states, actions)
	}
	if err := d.Done(); err != nil {
		return err
	}
	v.action, v.state = action, state
	*c = v
	return nil
}

// stationary returns the long-run share of each action from its mean reward d,
// given the logarithm of the mean length of a stay with an action of penalty
// probability c = 1 − d, up to a constant.
func (c *chain) stationary(rewards []float64, logStay func(penalty float64) float64) ([]float64, error) {
	if len(rewards) != c.actions {
		return nil, fmt.Errorf("%w: %d mean rewards for %d actions", ErrParameter, len(rewards), c.actions)
	}
	if err := checkMeans(rewards); err != nil {
		return nil, err
	}
	share := make([]float64, len(rewards))
	best := 0
	for i, d := range rewards {
		if d < 1 {
			share[i] = logStay(1 - d)
		} else { // it is never left
			if share[best] == math.Inf(1) {
				return nil, fmt.Errorf("%w: actions %d and %d are never penalised: the start decides", ErrParameter, best, i)
			}
			share[i] = math.Inf(1)
		}
		if share[i] > share[best] {
			best = i
		}
	}
	softmax(share)
	return share, nil
}

// logGeometric returns ln(1 + ρ + … + ρ^(n−1)).
func logGeometric(rho float64, n int) float64 {
	t := math.Log(rho)
	switch {
	case t == 0:
		return math.Log(float64(n))
	case t < 0:
		return math.Log(math.Expm1(float64(n)*t) / math.Expm1(t))
	default: // the largest power taken out, lest it overflow
		return float64(n-1)*t + math.Log(math.Expm1(-float64(n)*t)/math.Expm1(-t))
	}
}
