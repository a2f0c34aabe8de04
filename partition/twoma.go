package partition

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/ids"
)

// A NewArm says where an object goes that leaves its arm.
type NewArm uint8

const (
	// AnyArm draws from all arms, the one it leaves too.
	AnyArm NewArm = iota
	// OtherArm draws from all arms but the one it leaves.
	OtherArm
)

// An Average says with what a duration is compared.
type Average uint8

const (
	// LastCrawl is the average of the durations from the arm in the crawl
	// before. During the first crawl, and for an arm without any object in the
	// crawl before, it is the average of those so far in this one.
	LastCrawl Average = iota
	// History is the average of all durations from the arm so far.
	History
)

// A Reading settles what the rule of TWOMA leaves open. Copy AsPublished or
// Recommended.
type Reading struct {
	States int // N, states of each arm, 1 to 255; 5 in the papers
	// Entry is the state in which an object enters a new arm, as the number of
	// penalties until it leaves again: 1 is the boundary state, States the
	// most internal one.
	Entry   int
	NewArm  NewArm
	Average Average
}

var (
	// AsPublished reproduces the numbers of crawls that Chen & Wang (2006)
	// print in figure 5.3-7.
	AsPublished = Reading{States: 5, Entry: 4, NewArm: AnyArm, Average: LastCrawl}
	// Recommended enters a new arm at the boundary, so that a site that does not
	// fit leaves at once: several times faster than AsPublished. Its average
	// over the history recovers when all perfect arms switch.
	Recommended = Reading{States: 5, Entry: 1, NewArm: OtherArm, Average: History}
)

func (r Reading) check() error {
	switch {
	case r.States < 1 || r.States > math.MaxUint8:
		return fmt.Errorf("%w: %d states", ErrParameter, r.States)
	case r.Entry < 1 || r.Entry > r.States:
		return fmt.Errorf("%w: entry %d of %d states", ErrParameter, r.Entry, r.States)
	case r.NewArm > OtherArm:
		return fmt.Errorf("%w: new arm %d", ErrParameter, r.NewArm)
	case r.Average > History:
		return fmt.Errorf("%w: average %d", ErrParameter, r.Average)
	}
	return nil
}

// mean is a running average. Adding x to an average of x leaves exactly x,
// so that equal durations equal their average.
type mean struct {
	n int
	v float64
}

func (m *mean) add(x float64) {
	m.n++
	m.v += (x - m.v) / float64(m.n)
}

// armMeans keeps what the durations of an arm are compared with.
type armMeans struct {
	average Average
	last    []float64 // average of the crawl before, NaN if there is none
	now     []mean    // of this crawl, or of the history
	told    int       // accesses in this crawl
}

func newArmMeans(arms int, average Average) armMeans {
	a := armMeans{average: average, last: make([]float64, arms), now: make([]mean, arms)}
	for j := range a.last {
		a.last[j] = math.NaN()
	}
	return a
}

// observe adds a duration and returns the average to compare it with. A crawl
// ends when as many accesses were told as there are objects. O(1), and O(arms)
// at the end of a crawl.
func (a *armMeans) observe(arm int, duration float64, objects int) (average float64) {
	a.now[arm].add(duration)
	average = a.now[arm].v
	if a.average == LastCrawl && !math.IsNaN(a.last[arm]) {
		average = a.last[arm]
	}
	if a.told++; a.told >= objects {
		a.told = 0
		if a.average == LastCrawl {
			for j := range a.now {
				a.last[j] = math.NaN()
				if a.now[j].n > 0 {
					a.last[j] = a.now[j].v
				}
				a.now[j] = mean{}
			}
		}
	}
	return average
}

// TWOMA is the Time Weighted Object Migration Automaton of Chen, Wang and Olsen
// (2006), section 3. Objects (web sites) sit in the N states of R arms (access
// points). After an access that took
//
//   - at most the average duration of the arm, the object moves one state
//     inward, if it is not in the most internal one;
//   - longer, it moves one state outward, and from the boundary state to a random
//     arm.
//
// Two bytes an object (and two more up to the highest one ever removed), O(1)
// an access, no allocation. With exact durations it finds
// every object's fastest arm with probability 1 as long as every average lies
// between the fast durations and the slow; the package comment tells where it
// fails, and Assigner does not. Not safe for concurrent use.
type TWOMA struct {
	reading Reading
	arms    int
	src     rand.Source
	ids     ids.Registry
	arm     []uint8
	depth   []uint8 // penalties short of leaving: 0 at the boundary, N-1 inside
	means   armMeans
}

// NewTWOMA spreads objects 0..objects-1 evenly over the arms (2 to 256), object i
// into arm i mod arms, in the entry state. It panics if src is nil.
func NewTWOMA(arms, objects int, reading Reading, src rand.Source) (*TWOMA, error) {
	checkSource(src)
	if arms < 2 || arms > math.MaxUint8+1 {
		return nil, fmt.Errorf("%w: %d arms", ErrParameter, arms)
	}
	if objects < 0 || objects > ids.MaxSlots {
		return nil, fmt.Errorf("%w: %d objects", ErrParameter, objects)
	}
	if err := reading.check(); err != nil {
		return nil, err
	}
	t := &TWOMA{
		reading: reading,
		arms:    arms,
		src:     src,
		ids:     ids.Make(objects),
		arm:     make([]uint8, objects),
		depth:   make([]uint8, objects),
		means:   newArmMeans(arms, reading.Average),
	}
	for i := range t.arm {
		t.arm[i] = uint8(i % arms)
		t.depth[i] = uint8(reading.Entry - 1)
	}
	return t, nil
}

// Len returns the number of objects.
func (t *TWOMA) Len() int { return t.ids.Len() }

// Arms returns the number of arms.
func (t *TWOMA) Arms() int { return t.arms }

// Add adds an object in a random arm, in the entry state, and returns its id. O(1).
func (t *TWOMA) Add() int {
	id := t.ids.Add()
	slot := ids.Slot(id)
	if slot == len(t.arm) {
		t.arm, t.depth = append(t.arm, 0), append(t.depth, 0)
	}
	t.arm[slot] = uint8(rand.New(t.src).IntN(t.arms))
	t.depth[slot] = uint8(t.reading.Entry - 1)
	return id
}

// Remove removes an object, in O(1). The error is ErrObject.
func (t *TWOMA) Remove(object int) error {
	if !t.ids.Remove(object) {
		return noObject(object)
	}
	return nil
}

// Arm returns the arm from which to access an object. The error is ErrObject.
func (t *TWOMA) Arm(object int) (int, error) {
	slot, ok := t.ids.Slot(object)
	if !ok {
		return 0, noObject(object)
	}
	return int(t.arm[slot]), nil
}

// State returns the state of an object in its arm as in the papers: 1 is the
// most internal one, N the boundary. The error is ErrObject.
func (t *TWOMA) State(object int) (int, error) {
	slot, ok := t.ids.Slot(object)
	if !ok {
		return 0, noObject(object)
	}
	return t.reading.States - int(t.depth[slot]), nil
}

// Observe tells how long an access of an object from its arm took. A crawl is as
// many accesses as there are objects, in any order. O(1). The error is
// ErrObject or ErrDuration, and nothing changes.
func (t *TWOMA) Observe(object int, duration float64) error {
	slot, ok := t.ids.Slot(object)
	if !ok {
		return noObject(object)
	}
	if err := checkDuration(object, duration); err != nil {
		return err
	}
	arm := t.arm[slot]
	average := t.means.observe(int(arm), duration, t.ids.Len())
	switch depth := t.depth[slot]; {
	case duration <= average:
		if int(depth) < t.reading.States-1 {
			t.depth[slot] = depth + 1
		}
	case depth > 0:
		t.depth[slot] = depth - 1
	default:
		t.depth[slot] = uint8(t.reading.Entry - 1)
		t.arm[slot] = uint8(t.newArm(int(arm)))
	}
	return nil
}

func (t *TWOMA) newArm(old int) int {
	rng := rand.New(t.src)
	if t.reading.NewArm == AnyArm {
		return rng.IntN(t.arms)
	}
	// A draw from all arms but one: the last takes the place of the old one.
	if arm := rng.IntN(t.arms - 1); arm != old {
		return arm
	}
	return t.arms - 1
}

const (
	twomaMagic   = "recrawl/TWOMA"
	twomaVersion = 1
)

// AppendBinary appends the whole state, the source of randomness included, to b.
func (t *TWOMA) AppendBinary(b []byte) ([]byte, error) {
	e := codec.NewEncoder(b, twomaMagic, twomaVersion)
	t.reading.encode(e)
	e.Int(t.arms)
	t.ids.Encode(e)
	e.Bytes(t.arm)
	e.Bytes(t.depth)
	t.means.encode(e)
	e.Source(t.src)
	return e.Finish()
}

// MarshalBinary returns the whole state.
func (t *TWOMA) MarshalBinary() ([]byte, error) { return t.AppendBinary(nil) }

// UnmarshalBinary restores a saved state, which then continues bit for bit. An
// error leaves the receiver as it was.
func (t *TWOMA) UnmarshalBinary(data []byte) error {
	d, err := codec.NewDecoder(data, twomaMagic, twomaVersion)
	if err != nil {
		return err
	}
	r := TWOMA{reading: decodeReading(d), arms: d.Int()}
	if r.arms < 2 || r.arms > math.MaxUint8+1 {
		d.Fail("%d arms", r.arms)
	}
	r.ids = ids.Decode(d)
	r.arm, r.depth = d.Bytes(), d.Bytes()
	if len(r.arm) != r.ids.Slots() || len(r.depth) != r.ids.Slots() {
		d.Fail("%d arms and %d states of %d objects", len(r.arm), len(r.depth), r.ids.Slots())
	}
	checkPlaces(d, r.arm, r.depth, r.arms, r.reading.States)
	r.means = decodeMeans(d, r.arms, r.reading.Average)
	if r.src = d.Source(); r.src == nil {
		d.Fail("no source of randomness")
	}
	if err := d.Done(); err != nil {
		return err
	}
	*t = r
	return nil
}

// checkPlaces checks the arm and the depth of every object.
func checkPlaces(d *codec.Decoder, arm, depth []uint8, arms, states int) {
	for i := range min(len(arm), len(depth)) {
		if int(arm[i]) >= arms || int(depth[i]) >= states {
			d.Fail("object %d in state %d of arm %d", i, depth[i], arm[i])
			return
		}
	}
}

func (r Reading) encode(e *codec.Encoder) {
	e.Int(r.States)
	e.Int(r.Entry)
	e.Byte(byte(r.NewArm))
	e.Byte(byte(r.Average))
}

func decodeReading(d *codec.Decoder) Reading {
	r := Reading{States: d.Int(), Entry: d.Int(), NewArm: NewArm(d.Byte()), Average: Average(d.Byte())}
	if err := r.check(); err != nil {
		d.Fail("%v", err)
	}
	return r
}

func (a *armMeans) encode(e *codec.Encoder) {
	e.Float64s(a.last)
	for _, m := range a.now {
		e.Int(m.n)
		e.Float64(m.v)
	}
	e.Int(a.told)
}

func decodeMeans(d *codec.Decoder, arms int, average Average) armMeans {
	a := armMeans{average: average, last: d.Float64s()}
	if len(a.last) != arms {
		d.Fail("averages of %d arms", len(a.last))
	}
	for range a.last {
		m := mean{n: d.Int(), v: d.Float64()}
		if m.n < 0 || !(m.v >= 0 && m.v <= math.MaxFloat64) {
			d.Fail("average %v of %d durations", m.v, m.n)
		}
		a.now = append(a.now, m)
	}
	for _, v := range a.last {
		if v < 0 || math.IsInf(v, 1) {
			d.Fail("average %v", v)
		}
	}
	if a.told = d.Int(); a.told < 0 {
		d.Fail("%d accesses", a.told)
	}
	return a
}
