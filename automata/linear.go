package automata

import (
	"fmt"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

const magicLinear = "recrawl/automata.Linear"

// A Linear automaton keeps a vector of probabilities p and moves it in proportion
// to the answers. If action i was selected,
//
//	reward:   p_i += a·(1 − p_i)    p_j *= 1 − a
//	penalty:  p_i *= 1 − b          p_j = b/(r−1) + (1 − b)·p_j
//
// A reward x between 0 and 1 does both, with a·x and b·(1 − x) (the S-model of
// Viswanathan & Narendra 1973). Select and Learn take O(r).
//
// The ratio of a and b is what counts: with b = 0 ([NewLRI]) the unit vectors
// absorb, and the best action is found with a probability that tends to 1 as a
// tends to 0; with b = a ([NewLRP]) it never settles, and for r = 2 its mean
// probabilities tend to the inverse of the penalties, which suits a changing
// environment; 0 < b ≪ a ([NewLREpsilonP]) is near the first without its traps.
//
// Source: Narendra & Thathachar 1989, chapter 4.
type Linear struct {
	vector
	a, b float64
}

// NewLRP returns the linear reward-penalty scheme L_R-P with a = b in (0, 1].
func NewLRP(actions int, a float64) (*Linear, error) { return newLinear(actions, a, a) }

// NewLRI returns the linear reward-inaction scheme L_R-I with a in (0, 1] and b = 0.
func NewLRI(actions int, a float64) (*Linear, error) { return newLinear(actions, a, 0) }

// NewLREpsilonP returns the linear reward-ε-penalty scheme L_R-εP with 0 < b < a ≤ 1;
// b should be far below a.
func NewLREpsilonP(actions int, a, b float64) (*Linear, error) {
	if !(b > 0 && b < a) {
		return nil, fmt.Errorf("%w: penalty rate %v is not in (0, %v)", ErrParameter, b, a)
	}
	return newLinear(actions, a, b)
}

func newLinear(actions int, a, b float64) (*Linear, error) {
	if err := checkActions(actions); err != nil {
		return nil, err
	}
	if err := checkRate("reward rate", a); err != nil {
		return nil, err
	}
	return &Linear{newVector(actions), a, b}, nil
}

// Select chooses an action with its probability.
func (l *Linear) Select(src rand.Source) int {
	checkSource(src)
	return l.draw(src)
}

// Learn moves the probabilities. It draws nothing from src.
func (l *Linear) Learn(action int, reward float64, src rand.Source) error {
	if err := checkAnswer(action, len(l.vector), reward, src); err != nil {
		return err
	}
	up, down := l.a*reward, l.b*(1-reward)
	if up == 0 && down == 0 {
		return nil // inaction
	}
	keep := max(0, 1-up-down)
	share := down / float64(len(l.vector)-1)
	for j, x := range l.vector {
		if j == action {
			// In this form rounding never lowers x on a reward, nor moves 1.
			l.vector[j] = x + (float64(up*(1-x)) - float64(down*x))
		} else {
			l.vector[j] = float64(keep*x) + share
		}
	}
	return nil
}

// AppendBinary appends the saved state to b.
func (l *Linear) AppendBinary(b []byte) ([]byte, error) {
	e := codec.NewEncoder(b, magicLinear, 1)
	e.Float64(l.a)
	e.Float64(l.b)
	e.Float64s(l.vector)
	return e.Finish()
}

// MarshalBinary returns the saved state.
func (l *Linear) MarshalBinary() ([]byte, error) { return l.AppendBinary(nil) }

// UnmarshalBinary restores a saved state; after an error the automaton is as it was.
func (l *Linear) UnmarshalBinary(data []byte) error {
	d, err := codec.NewDecoder(data, magicLinear, 1)
	if err != nil {
		return err
	}
	v := Linear{a: d.Float64(), b: d.Float64(), vector: d.Float64s()}
	if !(v.a > 0 && v.a <= 1 && v.b >= 0 && v.b <= v.a) {
		d.Fail("rates %v and %v", v.a, v.b)
	}
	v.check(d)
	if err := d.Done(); err != nil {
		return err
	}
	*l = v
	return nil
}
