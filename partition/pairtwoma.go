package partition

import (
	"fmt"
	"math"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/ids"
)

// PairTWOMA is the variant of TWOMA in which sites change places in pairs, from Chen & Wang
// (2006). Ask with Next, tell with Observe; every two calls of Observe make a pair. It is
// there to be measured against: [Assigner] is better at everything but memory.
//
// # How it works
//
// An object whose access took at most the average duration of its arm moves one state
// inward. One that took longer moves one state outward. At the boundary it waits until it
// is paired with another such object of another arm; then the two change places. All
// objects start at the boundary.
//
// # Guarantees
//
// The number of objects in an arm never changes, so every object reaches its fastest arm
// only if each arm is the fastest of as many as it holds. The last two misplaced objects
// of W need W crawls on average to meet in random pairs. Objects cannot be added or
// removed.
//
// # Cost
//
// Time: O(1) an access, no allocation. Memory: two bytes an object. No randomness.
//
// # Source
//
// Chen & Wang (2006), section 5.2, with the exchange as in Chen, Wang and Olsen (2006),
// section 2.1. Case (c) of Oommen & Ma (1988) would leave the second object where it is
// slow and displace a third.
type PairTWOMA struct {
	states int
	arms   int
	arm    []uint8
	depth  []uint8 // 0 at the boundary, states-1 inside
	means  armMeans
	first  int  // first object of a pair that lacks its second, or -1
	waits  bool // and whether it should have left its arm
}

// defaultStates is N of the papers of TWOMA.
const defaultStates = 5

// NewPairTWOMA spreads objects 0..objects-1 evenly over the arms (2 to 256), object i into
// arm i mod arms, at the boundary of its states (1 to 255; 0 for the papers' 5). The error
// is ErrConfig.
func NewPairTWOMA(arms, objects, states int) (*PairTWOMA, error) {
	if states == 0 {
		states = defaultStates
	}
	switch {
	case arms < 2 || arms > math.MaxUint8+1:
		return nil, fmt.Errorf("%w: %d arms", ErrConfig, arms)
	case objects < 2 || objects > ids.MaxSlots:
		return nil, fmt.Errorf("%w: %d objects", ErrConfig, objects)
	case states < 1 || states > math.MaxUint8:
		return nil, fmt.Errorf("%w: %d states", ErrConfig, states)
	}
	p := &PairTWOMA{
		states: states,
		arms:   arms,
		arm:    make([]uint8, objects),
		depth:  make([]uint8, objects),
		means:  newArmMeans(arms, true),
		first:  -1,
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

// Observe reports how long an access of an object from its arm took. The first call and the
// second make a pair, the third and the fourth, and so on. Access the objects of a crawl in
// random order, as only a pair can change places. A crawl is as many accesses as there are
// objects. O(1). The error is ErrUnknown or ErrDuration.
func (p *PairTWOMA) Observe(object int, duration float64) error {
	if err := checkObject(object, len(p.arm)); err != nil {
		return err
	}
	if err := checkDuration(object, duration); err != nil {
		return err
	}
	waits := p.move(object, duration)
	if p.first < 0 {
		p.first, p.waits = object, waits
		return nil
	}
	if waits && p.waits {
		p.arm[p.first], p.arm[object] = p.arm[object], p.arm[p.first]
	}
	p.first, p.waits = -1, false
	return nil
}

// move moves an object within its arm. It waits if it should have left.
func (p *PairTWOMA) move(object int, duration float64) (waits bool) {
	average := p.means.observe(int(p.arm[object]), duration, len(p.arm))
	depth := &p.depth[object]
	switch {
	case duration <= average:
		if int(*depth) < p.states-1 {
			*depth++
		}
	case *depth > 0:
		*depth--
	default:
		return true
	}
	return false
}

var pairTWOMAFormat = codec.Format{Magic: "recrawl/partition.PairTWOMA", Version: 2}

// AppendBinary appends the whole state to b.
func (p *PairTWOMA) AppendBinary(b []byte) ([]byte, error) {
	return pairTWOMAFormat.Append(b, p.encode)
}

// MarshalBinary returns the whole state.
func (p *PairTWOMA) MarshalBinary() ([]byte, error) { return p.AppendBinary(nil) }

// UnmarshalBinary restores a saved state, which then continues bit for bit.
func (p *PairTWOMA) UnmarshalBinary(data []byte) error {
	return codec.Load(p, pairTWOMAFormat, data, (*PairTWOMA).decode)
}

func (p *PairTWOMA) encode(e *codec.Encoder) {
	e.Int(p.states)
	e.Int(p.arms)
	e.Bytes(p.arm)
	e.Bytes(p.depth)
	p.means.encode(e)
	e.Int(p.first)
	e.Bool(p.waits)
}

func (p *PairTWOMA) decode(d *codec.Decoder) {
	p.states = d.IntIn(1, math.MaxUint8)
	p.arms = d.IntIn(2, math.MaxUint8+1)
	p.arm = bytesBelow(d, codec.AnyLen, p.arms)
	d.Require(len(p.arm) >= 2, "%d objects", len(p.arm))
	p.depth = bytesBelow(d, len(p.arm), p.states)
	p.means = decodeMeans(d, p.arms, true)
	p.first, p.waits = d.IntIn(-1, len(p.arm)-1), d.Bool()
	d.Require(p.first >= 0 || !p.waits, "nobody waits")
}
