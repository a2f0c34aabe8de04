package automata

import (
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
)

// hdpa is the hierarchical discretised pursuit automaton.
type hdpa struct {
	estimates
	// Node 1 is the root, 2k and 2k+1 are the children of k, and r+i is the leaf of action i. So
	// 1..r−1 are the inner nodes, whatever r is.
	best       []float64 // greatest estimate below each node, for nodes 1..2r−1
	left       []int32   // probability of the first child in units of 1/(2N), for nodes 1..r−1
	resolution int
}

var hdpaFormat = codec.Format{Magic: "recrawl/automata.HDPA", Version: 1}

// NewHDPA returns the hierarchical discretised pursuit automaton of r ≥ 2 actions. Take it for many
// actions. The actions are the leaves of a binary tree, and each inner node has a two-action DP_RI
// automaton (see [NewDPRI]) of resolution N ≥ 1 that chooses one of its subtrees. Select walks down
// the tree; Learn walks up from the leaf of the action. Each action is first selected priming
// times, in turn; a priming of 0 means 10.
//
// # Cost
//
// Time: O(log r) for Select, Learn, Probability and Converged. Memory: 44 bytes an action.
//
// # How it works
//
// The estimate of a leaf is the mean reward of its action; the estimate of an inner node is the
// greater of its children's estimates. An answer updates the estimates from its leaf to the root. A
// reward also moves each automaton on that path by one step of 1/(2N) towards the child with the
// greater estimate (the second of two equal ones). A reward between 0 and 1 counts as a reward with
// that probability. If r is a power of two, all actions start with the same probability. Otherwise
// actions with shorter paths start with twice the probability of the others.
//
// # Source
//
// Omslandseter, Jiao, Zhang, Yazidi & Oommen 2022; the continuous form is Yazidi, Zhang,
// Jiao & Oommen 2020.
func NewHDPA(actions, resolution, priming int) (Estimator, error) {
	a, err := newHDPA(actions, resolution, priming)
	if err != nil {
		return nil, err // not a nil *hdpa
	}
	return a, nil
}

func newHDPA(actions, resolution, priming int) (*hdpa, error) {
	t, err := newEstimates(actions, priming)
	if err != nil {
		return nil, err
	}
	if err := checkResolution(resolution); err != nil {
		return nil, err
	}
	a := &hdpa{t, make([]float64, 2*actions), make([]int32, actions), resolution}
	for k := 1; k < actions; k++ {
		a.left[k] = int32(resolution)
	}
	return a, nil
}

// Actions returns r.
func (a *hdpa) Actions() int { return len(a.left) }

// Select chooses an action: the next one in turn while priming, then one by a walk down the
// tree.
func (a *hdpa) Select(src rand.Source) int {
	if action, ok := a.prime(src); ok {
		return action
	}
	rng := rand.New(src)
	k := 1
	for k < len(a.left) {
		if rng.Int32N(2*int32(a.resolution)) < a.left[k] {
			k = 2 * k
		} else {
			k = 2*k + 1
		}
	}
	return k - len(a.left)
}

// Learn updates the estimates. After priming, a reward also moves the automata on the path of the
// action.
func (a *hdpa) Learn(action int, reward float64, src rand.Source) error {
	if err := checkAnswer(action, len(a.left), reward, src); err != nil {
		return err
	}
	move := a.update(action, reward) && rewarded(reward, src)
	k := len(a.left) + action
	a.best[k] = a.mean[action]
	for k /= 2; k >= 1; k /= 2 {
		first, second := a.best[2*k], a.best[2*k+1]
		a.best[k] = max(first, second)
		switch {
		case !move:
		case first > second:
			a.left[k] = min(a.left[k]+1, 2*int32(a.resolution))
		default:
			a.left[k] = max(a.left[k]-1, 0)
		}
	}
	return nil
}

// branch returns the probability that node k passes the choice on to the given child.
func (a *hdpa) branch(k, child int) float64 {
	p := float64(a.left[k]) / float64(2*a.resolution)
	if child == 2*k {
		return p
	}
	return 1 - p
}

// Probability returns the probability of an action: the product of the probabilities along its
// path. O(log r).
func (a *hdpa) Probability(action int) float64 {
	_ = a.mean[action] // panics like a slice
	p := 1.0
	for k := len(a.left) + action; k > 1; k /= 2 {
		p *= a.branch(k/2, k)
	}
	return p
}

// Converged returns the action whose probability is at least threshold. O(log r).
func (a *hdpa) Converged(threshold float64) (action int, ok bool) {
	checkThreshold(threshold)
	// A leaf of probability above ½ lies below the likelier child of every node on its path.
	p := 1.0
	k := 1
	for k < len(a.left) {
		child := 2 * k
		if a.left[k] < int32(a.resolution) {
			child++
		}
		p *= a.branch(k, child)
		k = child
	}
	return k - len(a.left), p >= threshold
}

// MarshalBinary returns the saved state.
func (a *hdpa) MarshalBinary() ([]byte, error) { return hdpaFormat.Save(a.encode) }

// UnmarshalBinary restores a saved state; after an error the automaton is as it was.
func (a *hdpa) UnmarshalBinary(data []byte) error {
	return codec.Load(a, hdpaFormat, data, (*hdpa).decode)
}

func (a *hdpa) encode(e *codec.Encoder) {
	e.Int(a.resolution)
	e.Int(len(a.left))
	for _, c := range a.left {
		e.Uint32(uint32(c))
	}
	a.estimates.encode(e)
}

func (a *hdpa) decode(d *codec.Decoder) {
	resolution, left := d.IntIn(1, maxResolution), d.Uint32s()
	t := decodeEstimates(d, len(left))
	if d.Err() != nil {
		return
	}
	v, err := newHDPA(len(left), resolution, t.priming)
	if err != nil {
		d.Check(err)
		return
	}
	d.Require(left[0] == 0, "%d units of no node", left[0])
	v.estimates = t
	copy(v.best[len(left):], t.mean)
	for k := len(left) - 1; k >= 1; k-- {
		d.Require(left[k] <= 2*uint32(resolution), "node %d has %d units of %d", k, left[k], 2*resolution)
		v.left[k] = int32(left[k])
		v.best[k] = max(v.best[2*k], v.best[2*k+1])
	}
	*a = *v
}
