package partition

import (
	"fmt"
	"math"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/ids"
)

// PairTWOMA is the variant of Chen & Wang (2006), section 5.2: sites are accessed
// in pairs and move by the cases of OMA, with durations in the place of queries. An
// object whose access took at most the average duration of its arm moves one
// state inward. One that took longer moves one state outward, and waits at the
// boundary until it is accessed together with another such object of another
// arm; then the two change places. (So Chen, Wang and Olsen, section 2.1, have it;
// case (c) of Oommen & Ma would leave the second where it is slow and displace a
// third.) All objects start at the boundary.
//
// The number of objects in an arm never changes: every object reaches its fastest
// arm only if each arm is the fastest of as many as it holds, and the last two
// misplaced objects of W wait W crawls on average to meet in random pairs.
// Two bytes an object, O(1) an access, no allocation, no randomness of its own.
// Objects cannot be added or removed. Not safe for concurrent use.
type PairTWOMA struct {
	states int
	arms   int
	arm    []uint8
	depth  []uint8 // 0 at the boundary, states-1 inside
	means  armMeans
}

// NewPairTWOMA spreads objects 0..objects-1 evenly over the arms (2 to 256), object
// i into arm i mod arms, at the boundary of its states (1 to 255; 5 in the papers).
func NewPairTWOMA(arms, objects, states int) (*PairTWOMA, error) {
	if err := checkPairs(arms, objects, states); err != nil {
		return nil, err
	}
	p := &PairTWOMA{
		states: states,
		arms:   arms,
		arm:    make([]uint8, objects),
		depth:  make([]uint8, objects),
		means:  newArmMeans(arms, LastCrawl),
	}
	for i := range p.arm {
		p.arm[i] = uint8(i % arms)
	}
	return p, nil
}

func checkPairs(arms, objects, states int) error {
	switch {
	case arms < 2 || arms > math.MaxUint8+1:
		return fmt.Errorf("%w: %d arms", ErrParameter, arms)
	case objects < 2 || objects > ids.MaxSlots:
		return fmt.Errorf("%w: %d objects", ErrParameter, objects)
	case states < 1 || states > math.MaxUint8:
		return fmt.Errorf("%w: %d states", ErrParameter, states)
	}
	return nil
}

// Len returns the number of objects.
func (p *PairTWOMA) Len() int { return len(p.arm) }

// Arm returns the arm from which to access an object. The error is ErrObject.
func (p *PairTWOMA) Arm(object int) (int, error) {
	if object < 0 || object >= p.Len() {
		return 0, noObject(object)
	}
	return int(p.arm[object]), nil
}

// Observe tells how long the accesses of objects i and j from their arms took. A
// crawl is as many accesses as there are objects. O(1). The error is ErrObject,
// also if i = j, or ErrDuration, and nothing changes.
func (p *PairTWOMA) Observe(i, j int, durationI, durationJ float64) error {
	if err := checkPair(i, j, p.Len()); err != nil {
		return err
	}
	if err := checkDuration(i, durationI); err != nil {
		return err
	}
	if err := checkDuration(j, durationJ); err != nil {
		return err
	}
	waitsI := p.move(i, durationI)
	waitsJ := p.move(j, durationJ)
	if waitsI && waitsJ {
		p.arm[i], p.arm[j] = p.arm[j], p.arm[i]
	}
	return nil
}

// move moves an object within its arm. It waits if it should have left.
func (p *PairTWOMA) move(object int, duration float64) (waits bool) {
	average := p.means.observe(int(p.arm[object]), duration, p.Len())
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

const (
	pairMagic   = "recrawl/PairTWOMA"
	pairVersion = 1
)

// AppendBinary appends the whole state to b.
func (p *PairTWOMA) AppendBinary(b []byte) ([]byte, error) {
	e := codec.NewEncoder(b, pairMagic, pairVersion)
	e.Int(p.states)
	e.Int(p.arms)
	e.Bytes(p.arm)
	e.Bytes(p.depth)
	p.means.encode(e)
	return e.Finish()
}

// MarshalBinary returns the whole state.
func (p *PairTWOMA) MarshalBinary() ([]byte, error) { return p.AppendBinary(nil) }

// UnmarshalBinary restores a saved state, which then continues bit for bit. An
// error leaves the receiver as it was.
func (p *PairTWOMA) UnmarshalBinary(data []byte) error {
	d, err := codec.NewDecoder(data, pairMagic, pairVersion)
	if err != nil {
		return err
	}
	r := PairTWOMA{states: d.Int(), arms: d.Int(), arm: d.Bytes(), depth: d.Bytes()}
	if err := checkPairs(r.arms, len(r.arm), r.states); err != nil {
		d.Fail("%v", err)
	}
	if len(r.depth) != len(r.arm) {
		d.Fail("%d arms and %d states", len(r.arm), len(r.depth))
	}
	checkPlaces(d, r.arm, r.depth, r.arms, r.states)
	r.means = decodeMeans(d, r.arms, LastCrawl)
	if err := d.Done(); err != nil {
		return err
	}
	*p = r
	return nil
}
