package automata

import (
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

const magicDiscretePursuit = "recrawl/automata.DiscretePursuit"

// A DiscretePursuit automaton is a [Pursuit] one whose probabilities are multiples
// of Δ = 1/(rN) and move by whole steps towards the action h of the best estimate:
//
//	p_j = max(p_j − Δ, 0) for j ≠ h, p_h takes the rest
//
// after every answer (DP_RP) or after rewards only (DP_RI; a reward between 0 and
// 1 counts as a reward with that probability). The probabilities are kept as whole
// numbers, so they sum to 1 exactly, and an action whose probability reached 1
// keeps it as long as its estimate is the best. Select and Learn take O(r).
//
// Source: Oommen & Lanctôt 1990 (DP_RI); Oommen & Agache 2001.
type DiscretePursuit struct {
	primedUnits
	rewardOnly bool
}

// NewDPRP returns the discretised pursuit reward-penalty scheme of resolution N ≥ 1
// with the given number of priming pulls of each action (see [DefaultPriming]).
func NewDPRP(actions, resolution, priming int) (*DiscretePursuit, error) {
	return newDiscretePursuit(actions, resolution, priming, false)
}

// NewDPRI returns the discretised pursuit reward-inaction scheme.
func NewDPRI(actions, resolution, priming int) (*DiscretePursuit, error) {
	return newDiscretePursuit(actions, resolution, priming, true)
}

func newDiscretePursuit(actions, resolution, priming int, rewardOnly bool) (*DiscretePursuit, error) {
	u, err := newPrimedUnits(actions, resolution, 1, priming)
	if err != nil {
		return nil, err
	}
	return &DiscretePursuit{u, rewardOnly}, nil
}

// Learn updates the estimate and, after priming, the probabilities.
func (a *DiscretePursuit) Learn(action int, reward float64, src rand.Source) error {
	if err := checkAnswer(action, len(a.count), reward, src); err != nil {
		return err
	}
	if a.update(action, reward) && (!a.rewardOnly || rewarded(reward, src)) {
		a.pursue(argmax(a.mean))
	}
	return nil
}

// AppendBinary appends the saved state to b.
func (a *DiscretePursuit) AppendBinary(b []byte) ([]byte, error) {
	e := codec.NewEncoder(b, magicDiscretePursuit, 1)
	e.Bool(a.rewardOnly)
	a.encode(e)
	return e.Finish()
}

// MarshalBinary returns the saved state.
func (a *DiscretePursuit) MarshalBinary() ([]byte, error) { return a.AppendBinary(nil) }

// UnmarshalBinary restores a saved state; after an error the automaton is as it was.
func (a *DiscretePursuit) UnmarshalBinary(data []byte) error {
	d, err := codec.NewDecoder(data, magicDiscretePursuit, 1)
	if err != nil {
		return err
	}
	v := DiscretePursuit{rewardOnly: d.Bool(), primedUnits: decodePrimedUnits(d, 1)}
	if err := d.Done(); err != nil {
		return err
	}
	*a = v
	return nil
}
