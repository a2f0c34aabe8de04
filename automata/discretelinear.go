package automata

import (
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

// discreteLinear is a linear scheme of whole steps.
type discreteLinear struct {
	units
	penalty bool // moves on a penalty
}

var discreteLinearFormat = codec.Format{Magic: "recrawl/automata.DiscreteLinear", Version: 1}

// NewDLRI returns the discretised reward-inaction scheme of r ≥ 2 actions and resolution N ≥ 1. It
// is a [NewLinear] scheme whose probabilities are multiples of 1/(rN) and move by whole steps, so
// that they reach 0 and 1 in finite time. The unit vectors are absorbing.
//
//	reward:   p_j −= 1/(rN) for each j ≠ i that is not 0; p_i takes the rest
//	penalty:  nothing
//
// A reward between 0 and 1 counts as a reward with that probability.
//
// # Cost
//
// Time: O(r) for Select and Learn. Memory: 8 bytes an action.
//
// # Source
//
// Oommen & Hansen 1984, for r = 2. The steps for r > 2 are those of the discretised pursuit
// schemes.
func NewDLRI(actions, resolution int) (Distribution, error) {
	return newDiscreteLinear(actions, resolution, false)
}

// NewDLRP returns the discretised reward-penalty scheme of r ≥ 2 actions and resolution N ≥ 1. It
// is [NewDLRI] with the reverse step on a penalty: p_j += 1/(rN) for each j ≠ i, if p_i is large
// enough to give all of it. It never settles.
//
// Source: Oommen & Christensen 1988, for r = 2.
func NewDLRP(actions, resolution int) (Distribution, error) {
	return newDiscreteLinear(actions, resolution, true)
}

func newDiscreteLinear(actions, resolution int, penalty bool) (Distribution, error) {
	u, err := newUnits(actions, resolution, 1)
	if err != nil {
		return nil, err
	}
	return &discreteLinear{u, penalty}, nil
}

// Select chooses an action with its probability.
func (l *discreteLinear) Select(src rand.Source) int {
	checkSource(src)
	return l.draw(src)
}

// Learn moves the probabilities by a step.
func (l *discreteLinear) Learn(action int, reward float64, src rand.Source) error {
	if err := checkAnswer(action, len(l.count), reward, src); err != nil {
		return err
	}
	if rewarded(reward, src) {
		l.pursue(action)
		return nil
	}
	others := int64(len(l.count) - 1)
	if !l.penalty || l.count[action] < others {
		return nil
	}
	for j := range l.count {
		l.count[j]++
	}
	l.count[action] -= others + 1
	return nil
}

// MarshalBinary returns the saved state.
func (l *discreteLinear) MarshalBinary() ([]byte, error) { return discreteLinearFormat.Save(l.encode) }

// UnmarshalBinary restores a saved state; after an error the automaton is as it was.
func (l *discreteLinear) UnmarshalBinary(data []byte) error {
	return codec.Load(l, discreteLinearFormat, data, (*discreteLinear).decode)
}

func (l *discreteLinear) encode(e *codec.Encoder) {
	e.Bool(l.penalty)
	l.units.encode(e)
}

func (l *discreteLinear) decode(d *codec.Decoder) {
	l.penalty = d.Bool()
	l.units = decodeUnits(d, 1)
}
