package partition

import (
	"fmt"
	"math"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/ids"
)

// PairTWOMAConfig holds the settings of PairTWOMA. They decide what its report leaves open. A zero
// field means its default.
type PairTWOMAConfig struct {
	// States is N, the number of states of each arm: 1 to 255, default 5. The report does not
	// state it; the paper (Chen, Wang and Olsen 2006) has 5.
	States int
	// Together rewards both objects of a pair from the same arm, whatever their durations. In the
	// report such pairs move to the optimal states (section 5.2), as in the object migration
	// automaton. By default only an object's own duration rewards or penalises it.
	Together bool
	// Displace carries out the exchange as in case (c) of Oommen & Ma (1988), to which the report
	// refers. The first object moves to the arm of the second, and the second stays. A third object
	// of that arm, the one nearest to the boundary, moves to the arm that the first has left. By
	// default the two objects change places.
	Displace bool
}

// PairTWOMA is the variant of TWOMA from Chen & Wang (2006) in which sites change places in pairs.
// Next returns the arm for a site, and Observe reports a duration; every two calls of Observe make
// a pair. Take it only for comparison: [Assigner] is better at everything but memory.
//
// # How it works
//
// An object whose access took at most the average duration of its arm moves one state inward. One
// that took longer moves one state outward. At the boundary it waits until it is paired with
// another such object of another arm. Then the two change places. All objects start at the
// boundary. Two rules of the report are off by default, because they make the scheme worse;
// [PairTWOMAConfig] turns them on.
//
// # Guarantees
//
// The number of objects in an arm never changes. So every object can reach its fastest arm only if
// each arm is the fastest for as many objects as it holds. With random pairs, the last two
// misplaced objects of W need W crawls on average to meet. Objects cannot be added or removed.
//
// # Cost
//
// Time: O(1) an access, no allocation; with Displace, O(objects) for an exchange. Memory: two bytes
// an object. It uses no randomness.
//
// # Source
//
// Chen & Wang (2006), section 5.2, with the exchange as in Chen, Wang and Olsen (2006), section
// 2.1. The section "The five papers" of RESULTS.md compares its numbers of crawls with those that
// the report publishes; go run ./examples/papers -only chenwang-pairs repeats that.
type PairTWOMA struct {
	cfg   PairTWOMAConfig
	arms  int
	arm   []uint8
	depth []uint8 // 0 at the boundary, N-1 inside
	means armMeans
	first int  // first object of a pair whose second is still to come, or -1
	slow  bool // whether that object took longer than the average
}

// defaultStates is the N of the paper on TWOMA, section 4.
const defaultStates = 5

// NewPairTWOMA spreads objects 0..objects-1 evenly over the arms (2 to 256), object i into
// arm i mod arms, at the boundary of its states. The error is ErrConfig.
func NewPairTWOMA(arms, objects int, cfg PairTWOMAConfig) (*PairTWOMA, error) {
	if cfg.States == 0 {
		cfg.States = defaultStates
	}
	switch {
	case arms < 2 || arms > math.MaxUint8+1:
		return nil, fmt.Errorf("%w: %d arms", ErrConfig, arms)
	case objects < 2 || objects > ids.MaxSlots:
		return nil, fmt.Errorf("%w: %d objects", ErrConfig, objects)
	case cfg.States < 1 || cfg.States > math.MaxUint8:
		return nil, fmt.Errorf("%w: %d states", ErrConfig, cfg.States)
	}
	p := &PairTWOMA{
		cfg:   cfg,
		arms:  arms,
		arm:   make([]uint8, objects),
		depth: make([]uint8, objects),
		means: newArmMeans(arms, true),
		first: -1,
	}
	for i := range p.arm {
		p.arm[i] = uint8(i % arms)
	}
	return p, nil
}

// Next returns the arm from which to access an object. The error is ErrUnknown.
func (p *PairTWOMA) Next(object int) (int, error) {
	if err := checkObject(object, len(p.arm)); err != nil {
		return 0, err
	}
	return int(p.arm[object]), nil
}

// State returns the state of an object in its arm, from 1, the most internal, to N, the boundary.
// The error is ErrUnknown.
func (p *PairTWOMA) State(object int) (int, error) {
	if err := checkObject(object, len(p.depth)); err != nil {
		return 0, err
	}
	return p.cfg.States - int(p.depth[object]), nil
}

// Observe reports how long an access of an object from its arm took. The first and the second call
// make a pair, then the third and the fourth, and so on. Access the objects of a crawl in random
// order, because only a pair can change places. A crawl is as many accesses as there are objects.
// O(1), unless Displace is set. The error is ErrUnknown or ErrDuration.
func (p *PairTWOMA) Observe(object int, duration float64) error {
	if err := checkObject(object, len(p.arm)); err != nil {
		return err
	}
	if err := checkDuration(object, duration); err != nil {
		return err
	}
	slow := duration > p.means.observe(int(p.arm[object]), duration, len(p.arm))
	if p.first < 0 {
		p.first, p.slow = object, slow
		return nil
	}
	p.pair(p.first, object, p.slow, slow)
	p.first, p.slow = -1, false
	return nil
}

// pair moves the two objects of a pair. slowI and slowJ report whether each was slow.
func (p *PairTWOMA) pair(i, j int, slowI, slowJ bool) {
	if p.cfg.Together && p.arm[i] == p.arm[j] {
		slowI, slowJ = false, false
	}
	leavesI, leavesJ := p.move(i, slowI), p.move(j, slowJ)
	if !leavesI || !leavesJ || p.arm[i] == p.arm[j] {
		return
	}
	other := j
	if p.cfg.Displace {
		if other = p.nearest(j); other < 0 {
			return
		}
		p.depth[other] = 0
	}
	p.arm[i], p.arm[other] = p.arm[other], p.arm[i]
}

// nearest returns the object of the arm of j, other than j, that is nearest to the boundary, or -1
// if there is none. Of several such objects it returns the next after j.
func (p *PairTWOMA) nearest(j int) int {
	best := -1
	for k := 1; k < len(p.arm); k++ {
		object := (j + k) % len(p.arm)
		if p.arm[object] == p.arm[j] && (best < 0 || p.depth[object] < p.depth[best]) {
			if best = object; p.depth[object] == 0 {
				break
			}
		}
	}
	return best
}

// move moves an object within its arm. It reports whether it should have left.
func (p *PairTWOMA) move(object int, slow bool) (leaves bool) {
	depth := &p.depth[object]
	switch {
	case !slow:
		if int(*depth) < p.cfg.States-1 {
			*depth++
		}
	case *depth > 0:
		*depth--
	default:
		return true
	}
	return false
}

var pairTWOMAFormat = codec.Format{Magic: "recrawl/partition.PairTWOMA", Version: 3}

// MarshalBinary returns the whole state.
func (p *PairTWOMA) MarshalBinary() ([]byte, error) { return pairTWOMAFormat.Save(p.encode) }

// UnmarshalBinary restores a saved state, which then continues bit for bit (see the package).
func (p *PairTWOMA) UnmarshalBinary(data []byte) error {
	return codec.Load(p, pairTWOMAFormat, data, (*PairTWOMA).decode)
}

func (p *PairTWOMA) encode(e *codec.Encoder) {
	e.Int(p.cfg.States)
	e.Bool(p.cfg.Together)
	e.Bool(p.cfg.Displace)
	e.Int(p.arms)
	e.Bytes(p.arm)
	e.Bytes(p.depth)
	p.means.encode(e)
	e.Int(p.first)
	e.Bool(p.slow)
}

func (p *PairTWOMA) decode(d *codec.Decoder) {
	p.cfg = PairTWOMAConfig{d.IntIn(1, math.MaxUint8), d.Bool(), d.Bool()}
	p.arms = d.IntIn(2, math.MaxUint8+1)
	p.arm = bytesBelow(d, codec.AnyLen, p.arms)
	d.Require(len(p.arm) >= 2, "%d objects", len(p.arm))
	p.depth = bytesBelow(d, len(p.arm), p.cfg.States)
	p.means = decodeMeans(d, p.arms, true)
	p.first, p.slow = d.IntIn(-1, len(p.arm)-1), d.Bool()
	d.Require(p.first >= 0 || !p.slow, "nobody waits for a second")
}
