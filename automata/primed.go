package automata

import (
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

// A primedVector is what the continuous schemes with estimates share.
type primedVector struct {
	vector
	estimates
	lambda float64
}

func newPrimedVector(actions int, lambda float64, priming int) (primedVector, error) {
	t, err := newEstimates(actions, priming)
	if err != nil {
		return primedVector{}, err
	}
	if err := checkRate("λ", lambda); err != nil {
		return primedVector{}, err
	}
	return primedVector{newVector(actions), t, lambda}, nil
}

// Select chooses an action: the next one in turn while priming, then one with its
// probability.
func (a *primedVector) Select(src rand.Source) int {
	if action, ok := a.prime(src); ok {
		return action
	}
	return a.draw(src)
}

func (a *primedVector) encode(e *codec.Encoder) {
	e.Float64(a.lambda)
	e.Float64s(a.vector)
	a.estimates.encode(e)
}

func decodePrimedVector(d *codec.Decoder) primedVector {
	a := primedVector{lambda: d.Float64(), vector: d.Float64s()}
	if err := checkRate("λ", a.lambda); err != nil {
		d.Fail("%v", err)
	}
	a.check(d)
	a.estimates = decodeEstimates(d, len(a.vector))
	return a
}

// A primedUnits is what the discretised schemes with estimates share.
type primedUnits struct {
	units
	estimates
}

func newPrimedUnits(actions, resolution int, perStep int64, priming int) (primedUnits, error) {
	t, err := newEstimates(actions, priming)
	if err != nil {
		return primedUnits{}, err
	}
	u, err := newUnits(actions, resolution, perStep)
	if err != nil {
		return primedUnits{}, err
	}
	return primedUnits{u, t}, nil
}

// Select chooses an action: the next one in turn while priming, then one with its
// probability.
func (a *primedUnits) Select(src rand.Source) int {
	if action, ok := a.prime(src); ok {
		return action
	}
	return a.draw(src)
}

func (a *primedUnits) encode(e *codec.Encoder) {
	a.units.encode(e)
	a.estimates.encode(e)
}

func decodePrimedUnits(d *codec.Decoder, perStep int64) primedUnits {
	u := decodeUnits(d, perStep)
	return primedUnits{u, decodeEstimates(d, len(u.count))}
}
