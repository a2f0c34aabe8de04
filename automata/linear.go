package automata

import (
	"fmt"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

// linear is a linear scheme.
type linear struct {
	vector
	a, b float64
}

var linearFormat = codec.Format{Magic: "recrawl/automata.Linear", Version: 1}

// NewLinear returns a linear scheme of r ≥ 2 actions with the rates a in (0, 1] for rewards and b
// in [0, a] for penalties. It keeps a vector p of probabilities. Select draws from it, and Learn
// moves it in proportion to the answer. If action i was selected,
//
//	reward:   p_i += a·(1 − p_i)    p_j *= 1 − a
//	penalty:  p_i *= 1 − b          p_j = b/(r−1) + (1 − b)·p_j
//
// A reward x between 0 and 1 does both, with a·x and b·(1 − x) (the S-model of Viswanathan &
// Narendra 1973). Take it for an environment that changes, with a penalty rate. The ratio of the
// rates a and b decides how it behaves:
//
//   - b = 0 (L_R-I): the unit vectors are absorbing. The probability that it finds the best action
//     tends to 1 as a tends to 0.
//   - b = a (L_R-P): it never settles, which suits a changing environment. For r = 2 its
//     mean probabilities tend to the inverse of the penalties.
//   - 0 < b ≪ a (L_R-εP): it behaves almost like L_R-I, but no vector is absorbing.
//
// # Cost
//
// Time: O(r) for Select and Learn. Memory: 8 bytes an action.
//
// # Source
//
// Narendra & Thathachar 1989, chapter 4.
func NewLinear(actions int, a, b float64) (Distribution, error) {
	if err := checkActions(actions); err != nil {
		return nil, err
	}
	if err := checkRates(a, b); err != nil {
		return nil, err
	}
	return &linear{newVector(actions), a, b}, nil
}

func checkRates(a, b float64) error {
	if err := checkRate("reward rate", a); err != nil {
		return err
	}
	if !(b >= 0 && b <= a) {
		return fmt.Errorf("%w: penalty rate %v is not in [0, %v]", ErrConfig, b, a)
	}
	return nil
}

// Select chooses an action with its probability.
func (l *linear) Select(src rand.Source) int {
	checkSource(src)
	return l.draw(src)
}

// Learn moves the probabilities. It draws nothing from src.
func (l *linear) Learn(action int, reward float64, src rand.Source) error {
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
			// In this form rounding never lowers x on a reward and never moves x = 1.
			l.vector[j] = x + (float64(up*(1-x)) - float64(down*x))
		} else {
			l.vector[j] = float64(keep*x) + share
		}
	}
	return nil
}

// MarshalBinary returns the saved state.
func (l *linear) MarshalBinary() ([]byte, error) { return linearFormat.Save(l.encode) }

// UnmarshalBinary restores a saved state; after an error the automaton is as it was.
func (l *linear) UnmarshalBinary(data []byte) error {
	return codec.Load(l, linearFormat, data, (*linear).decode)
}

func (l *linear) encode(e *codec.Encoder) {
	e.Float64(l.a)
	e.Float64(l.b)
	e.Float64s(l.vector)
}

func (l *linear) decode(d *codec.Decoder) {
	l.a, l.b = d.Float64(), d.Float64()
	d.Check(checkRates(l.a, l.b))
	l.vector = decodeVector(d)
}
