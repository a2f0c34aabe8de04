package automata

import (
	"fmt"

	"github.com/recrawl/recrawl/internal/codec"
)

// An SPL searches for a point on [0, 1] (stochastic point location). Point proposes x = s/N with s
// in 0..N. Learn is told on which side the wanted point lies, and moves by 1/N that way. Take it
// where answers may be wrong almost half of the time; [HSSL] is faster if they are right often
// enough.
//
// # Guarantees
//
// If each answer is right with a probability p > ½, the share of time near the wanted point tends
// to 1 as N grows.
//
// # Cost
//
// Time: O(1) for Point and Learn. Memory: two numbers.
//
// # Source
//
// Oommen 1997.
type SPL struct {
	resolution, state int
}

var splFormat = codec.Format{Magic: "recrawl/automata.SPL", Version: 1}

// NewSPL returns a search of resolution N ≥ 1 that starts in the middle.
func NewSPL(resolution int) (*SPL, error) {
	if err := checkInt("resolution", resolution, 1, maxStates); err != nil {
		return nil, err
	}
	return &SPL{resolution, resolution / 2}, nil
}

// made panics if a is a zero value.
func (a *SPL) made() {
	if a.resolution == 0 {
		panic("automata: an SPL that is a zero value: make it with NewSPL")
	}
}

// Point returns the point proposed now.
func (a *SPL) Point() float64 {
	a.made()
	return float64(a.state) / float64(a.resolution)
}

// Learn moves the point one step to the right or to the left.
func (a *SPL) Learn(right bool) {
	a.made()
	if right {
		a.state = min(a.state+1, a.resolution)
	} else {
		a.state = max(a.state-1, 0)
	}
}

// Stationary returns the share of time at each of the N+1 points in the long run, for a target in
// [0, 1] and answers that are right with probability correct in (0, 1). With p = correct, the share
// changes by the factor (1−p)/p from point to point away from the target. At a point that is the
// target itself the right answer is left, so that point and the one before it have equal shares.
// The error is ErrConfig. O(N).
func (a *SPL) Stationary(target, correct float64) ([]float64, error) {
	a.made()
	if !(target >= 0 && target <= 1) {
		return nil, fmt.Errorf("%w: target %v is not in [0, 1]", ErrConfig, target)
	}
	if !(correct > 0 && correct < 1) {
		return nil, fmt.Errorf("%w: probability of a right answer %v is not in (0, 1)", ErrConfig, correct)
	}
	up := make([]float64, a.resolution+1)
	down := make([]float64, a.resolution+1)
	for s := range up {
		up[s] = 1 - correct
		if float64(s)/float64(a.resolution) < target {
			up[s] = correct
		}
		down[s] = 1 - up[s]
	}
	return BirthDeath(up, down)
}

// MarshalBinary returns the saved state.
func (a *SPL) MarshalBinary() ([]byte, error) { return splFormat.Save(a.encode) }

// UnmarshalBinary restores a saved state; after an error the search is as it was.
func (a *SPL) UnmarshalBinary(data []byte) error {
	return codec.Load(a, splFormat, data, (*SPL).decode)
}

func (a *SPL) encode(e *codec.Encoder) {
	e.Int(a.resolution)
	e.Int(a.state)
}

func (a *SPL) decode(d *codec.Decoder) {
	a.resolution = d.IntIn(1, maxStates)
	a.state = d.IntIn(0, a.resolution)
}
