package automata

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

// A Fixed automaton has a fixed structure: N states for each of r actions, of which state 1
// is the innermost and N the boundary. It is in one state of one action, and that is the
// action that Select returns. Learn moves it inward on a reward and outward on a penalty;
// a penalty at the boundary leads to the boundary of the next action.
//
//	action 0:   1 – 2 – … – N ┐
//	action 1:   1 – 2 – … – N ┤ a penalty at N leads to N of the next action
//	action r−1: 1 – 2 – … – N ┘ (in cyclic order)
//
// [NewTsetlin], [NewKrinsky] and [NewKrylov] differ in how far an answer moves it. Take one
// where the best action changes: it is never sure, and so never stuck. Take Krinsky or
// Krylov where even the best action is penalised more often than not.
//
// # Cost
//
// Select and Learn take O(1), whatever r and N are. Memory: five numbers.
//
// # How it works
//
// A reward between 0 and 1 counts as a reward with that probability. An answer for an
// action that the automaton has left in the meantime changes nothing. By the symmetry of
// the crossing every boundary is crossed equally often in the long run, whatever the order
// of the actions; Stationary follows from that.
//
// # Source
//
// Narendra & Thathachar 1989, chapter 3.
type Fixed struct {
	rule            fixedRule
	actions, states int
	action, state   int
}

// A fixedRule is how a Fixed automaton moves.
type fixedRule uint8

const (
	tsetlin fixedRule = iota
	krinsky
	krylov
	fixedRules
)

var fixedFormat = codec.Format{Magic: "recrawl/automata.Fixed", Version: 1}

func newFixed(rule fixedRule, actions, states int) (*Fixed, error) {
	if err := checkActions(actions); err != nil {
		return nil, err
	}
	if err := checkStates(states); err != nil {
		return nil, err
	}
	return &Fixed{rule: rule, actions: actions, states: states, state: states}, nil
}

// Actions returns r.
func (a *Fixed) Actions() int { return a.actions }

// Select returns the current action. It draws nothing from src.
func (a *Fixed) Select(src rand.Source) int {
	checkSource(src)
	return a.action
}

// Learn moves the automaton if the action is the current one.
func (a *Fixed) Learn(action int, reward float64, src rand.Source) error {
	if err := checkAnswer(action, a.actions, reward, src); err != nil {
		return err
	}
	if action != a.action {
		return nil
	}
	switch won := rewarded(reward, src); {
	case won && a.rule == krinsky:
		a.state = 1
	case won || a.rule == krylov && uniform(src) < 0.5:
		a.state = max(a.state-1, 1)
	case a.state < a.states:
		a.state++
	case a.action == a.actions-1:
		a.action = 0
	default:
		a.action++
	}
	return nil
}

// Stationary returns the share of each action in the long run, if action i gets the mean
// reward rewards[i]. O(r). With c_i = 1 − rewards[i] and ρ = (1 − c)/c,
//
//	Tsetlin  P(i) ∝ (1/c_i)·(1 + ρ_i + … + ρ_i^(N−1))
//	Krylov   the same with c_i/2 in place of c_i
//	Krinsky  P(i) ∝ c_i^(−N)
//
// Two actions that are never penalised are an ErrConfig: the start decides between them.
func (a *Fixed) Stationary(rewards []float64) ([]float64, error) {
	if len(rewards) != a.actions {
		return nil, fmt.Errorf("%w: %d mean rewards for %d actions", ErrConfig, len(rewards), a.actions)
	}
	if err := checkMeans(rewards); err != nil {
		return nil, err
	}
	share := make([]float64, len(rewards)) // logarithms of weights, until the end
	best := 0
	for i, d := range rewards {
		if d < 1 {
			share[i] = a.logStay(1 - d)
		} else { // it is never left
			if share[best] == math.Inf(1) {
				return nil, fmt.Errorf("%w: actions %d and %d are never penalised: the start decides", ErrConfig, best, i)
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

// logStay returns the logarithm of the mean length of a stay with an action of penalty
// probability c > 0, up to a constant.
func (a *Fixed) logStay(c float64) float64 {
	switch a.rule {
	case krinsky:
		return krinskyStay(c, a.states)
	case krylov:
		return tsetlinStay(c/2, a.states)
	default:
		return tsetlinStay(c, a.states)
	}
}

// AppendBinary appends the saved state to b.
func (a *Fixed) AppendBinary(b []byte) ([]byte, error) { return fixedFormat.Append(b, a.encode) }

// MarshalBinary returns the saved state.
func (a *Fixed) MarshalBinary() ([]byte, error) { return a.AppendBinary(nil) }

// UnmarshalBinary restores a saved state; after an error the automaton is as it was.
func (a *Fixed) UnmarshalBinary(data []byte) error {
	return codec.Load(a, fixedFormat, data, (*Fixed).decode)
}

func (a *Fixed) encode(e *codec.Encoder) {
	e.Byte(byte(a.rule))
	e.Int(a.actions)
	e.Int(a.states)
	e.Int(a.action)
	e.Int(a.state)
}

func (a *Fixed) decode(d *codec.Decoder) {
	a.rule = codec.Enum[fixedRule](d, int(fixedRules))
	a.actions = d.IntIn(2, maxActions)
	a.states = d.IntIn(1, maxStates)
	a.action = d.IntIn(0, a.actions-1)
	a.state = d.IntIn(1, a.states)
}
