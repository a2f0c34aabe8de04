package partition

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/ids"
	"github.com/recrawl/recrawl/internal/source"
)

// TWOMAConfig holds the settings of TWOMA. They decide what its papers leave open. A zero field
// means its default.
//
// The zero value is what we recommend. An object enters a new arm at the boundary and leaves at
// once if it does not fit. That converges several times faster than an entry deeper inside.
//
// # Where the papers are open
//
// The paper says that N is 5, that an object which leaves draws from the other arms, and that an
// object is rewarded if it takes less than the average of its arm and penalised if it takes more.
// It does not say in which state an object enters an arm, over which accesses the average is taken,
// or what follows from a duration equal to it, which is a reward here. It numbers the states from
// N_0 to N_N, which would make six of N = 5: that matters only to an entry in the most internal one,
// which then takes a fifth longer. In the report all objects begin in the worst state of an arm.
// Here they begin in the state Entry, which takes up to Entry − 1 crawls more.
//
// No reading of the text gives the report's numbers of crawls in all settings:
//
//	arms × objects of each     3×300  3×1000  5×300  5×1000  8×625  8×10,000
//	report                        74      90    116     145    263       299
//	entry at the boundary         12      13     28      32     60        78
//	entry in the most internal    54      62    137     158    294       384
//
// The last two lines are from ExpectedCrawls. These settings come close to the report's numbers, with
// 10,000 objects in all in the last column, where the report has 80,000:
//
//	TWOMAConfig{Entry: 4, AnyArm: true, LastCrawl: true}
//
// They were chosen for that among about 1000, and AnyArm contradicts the text. See "The five
// papers" in RESULTS.md.
type TWOMAConfig struct {
	// States is N, the number of states of each arm: 1 to 255, default 5 as in the paper.
	States int
	// Entry is the state in which an object enters a new arm, given as the number of penalties
	// until it leaves again. 1, the default, is the boundary state; States is the most internal
	// state.
	Entry int
	// AnyArm makes an object that leaves its arm draw from all arms, including that one. By default
	// it draws from the others.
	AnyArm bool
	// LastCrawl makes TWOMA compare a duration with the average of the arm in the crawl before. In
	// the first crawl, and for an arm that had no object in the crawl before, it is the average so
	// far in this crawl. The default is the average of all durations from the arm so far. With the
	// default, TWOMA recovers when the fastest arm of every object changes.
	LastCrawl bool
}

// resolve returns the settings with their defaults filled in, or ErrConfig.
func (c TWOMAConfig) resolve() (TWOMAConfig, error) {
	if c.States == 0 {
		c.States = defaultStates
	}
	if c.Entry == 0 {
		c.Entry = 1
	}
	switch {
	case c.States < 1 || c.States > math.MaxUint8:
		return c, fmt.Errorf("%w: %d states", ErrConfig, c.States)
	case c.Entry < 1 || c.Entry > c.States:
		return c, fmt.Errorf("%w: entry %d of %d states", ErrConfig, c.Entry, c.States)
	}
	return c, nil
}

// ExpectedCrawls returns the mean number of crawls until all objects are in their fastest arms. It
// holds if durations are exact, objects are alike and fastest arms are drawn independently. Chen &
// Wang (2006) ask for this relation of arms, objects and crawls (section 6.2) and leave it open.
// arms and objects are as for [NewTWOMA]; the error is ErrConfig.
//
// # How it works
//
// Let R be the number of arms and M the number of objects. An object stays Entry crawls in each
// wrong arm. Its first arm is wrong with probability (R−1)/R, and every later arm with probability
// q, which is (R−2)/(R−1), or (R−1)/R with AnyArm. The last of the M objects decides. With w_g =
// q^g·(R−1)/R the mean number of crawls is
//
//	1 + Entry·Σ_{g≥0} (1 − (1 − w_g)^M)
//
// This is about 1 + Entry·(½ + (ln(M·(R−1)/R) + 0.577)/(−ln q)). 1/(−ln q) is about R − 1.5, or
// R − ½ with AnyArm (R > 2). So the crawls grow with the number of arms and with the logarithm of the
// number of objects.
func (c TWOMAConfig) ExpectedCrawls(arms, objects int) (float64, error) {
	c, err := c.resolve()
	if err != nil {
		return 0, err
	}
	if err := checkTWOMA(arms, objects); err != nil {
		return 0, err
	}
	wrong := float64(arms-1) / float64(arms)
	q := wrong
	if !c.AnyArm {
		q = float64(arms-2) / float64(arms-1)
	}
	const negligible = 1e-12
	sum := 0.0
	for wrong*float64(objects) > negligible {
		sum -= math.Expm1(float64(objects) * math.Log1p(-wrong))
		wrong *= q
	}
	return 1 + float64(float64(c.Entry)*sum), nil
}

// mean is a running average. Adding x to an average of x leaves exactly x, so equal durations equal
// their average.
type mean struct {
	n int
	v float64
}

func (m *mean) add(x float64) {
	m.n = min(m.n+1, codec.MostCount) // the most that a saved state may have
	m.v += (x - m.v) / float64(m.n)
}

// armMeans keeps the averages that the durations of the arms are compared with.
type armMeans struct {
	lastCrawl bool
	last      []float64 // average of the crawl before, NaN if there is none
	now       []mean    // average of this crawl, or of the history
	told      int       // accesses so far in this crawl
}

func newArmMeans(arms int, lastCrawl bool) armMeans {
	a := armMeans{lastCrawl: lastCrawl, last: make([]float64, arms), now: make([]mean, arms)}
	for j := range a.last {
		a.last[j] = math.NaN()
	}
	return a
}

// observe adds a duration and returns the average to compare it with. A crawl ends when as
// many accesses were told as there are objects. O(1), and O(arms) at the end of a crawl.
func (a *armMeans) observe(arm int, duration float64, objects int) (average float64) {
	a.now[arm].add(duration)
	average = a.now[arm].v
	if a.lastCrawl && !math.IsNaN(a.last[arm]) {
		average = a.last[arm]
	}
	if a.told++; a.told >= objects {
		a.told = 0
		if a.lastCrawl {
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

// TWOMA is the Time Weighted Object Migration Automaton. It assigns objects (web sites) to arms
// (access points) by measured durations, in two bytes an object. Next returns the arm for an
// object, and Observe reports a duration. Take it if memory decides; [Assigner] is better at
// everything else, with two exceptions: exact durations that never change, and the first crawls if
// there are some 40 arms and large noise (RESULTS.md, "Access points").
//
// # How it works
//
// Objects sit in the N states of R arms. After an access that took
//
//   - at most the average duration of the arm, the object moves one state inward, if it
//     is not in the most internal one;
//   - longer, it moves one state outward, and from the boundary state to a random arm.
//
// # Guarantees
//
// With exact durations it finds every object's fastest arm with probability 1, as long as every
// average lies between the fast durations and the slow ones. The package comment describes where it
// fails.
//
// # Cost
//
// Time: O(1) an access, no allocation. Memory: two bytes an object, and two more up to the
// highest one ever removed.
//
// # Source
//
// Chen, Wang and Olsen (2006), section 3. The section "The five papers" of RESULTS.md has all
// figures of the paper and of its report, in every reading; go run ./examples/papers -only chen
// repeats them.
type TWOMA struct {
	cfg   TWOMAConfig
	arms  int
	src   rand.Source
	ids   ids.Registry
	arm   []uint8
	depth []uint8 // penalties that an object bears before it leaves: 0 at the boundary, N-1 inside
	means armMeans
}

// NewTWOMA spreads objects 0..objects-1 evenly over the arms (2 to 256), object i into arm
// i mod arms, in the entry state. The error is ErrConfig. It panics if src is nil.
func NewTWOMA(arms, objects int, cfg TWOMAConfig, src rand.Source) (*TWOMA, error) {
	source.Require(src, "partition")
	if err := checkTWOMA(arms, objects); err != nil {
		return nil, err
	}
	cfg, err := cfg.resolve()
	if err != nil {
		return nil, err
	}
	t := &TWOMA{
		cfg:   cfg,
		arms:  arms,
		src:   src,
		ids:   ids.Make(objects),
		arm:   make([]uint8, objects),
		depth: make([]uint8, objects),
		means: newArmMeans(arms, cfg.LastCrawl),
	}
	for i := range t.arm {
		t.arm[i] = uint8(i % arms)
		t.depth[i] = uint8(cfg.Entry - 1)
	}
	return t, nil
}

func checkTWOMA(arms, objects int) error {
	switch {
	case arms < 2 || arms > math.MaxUint8+1:
		return fmt.Errorf("%w: %d arms", ErrConfig, arms)
	case objects < 0 || objects > ids.MaxSlots:
		return fmt.Errorf("%w: %d objects", ErrConfig, objects)
	}
	return nil
}

// Len returns the number of objects.
func (t *TWOMA) Len() int { return t.ids.Len() }

// All returns the ids of all objects, in the order of their slots.
func (t *TWOMA) All() iter.Seq[int] { return t.ids.All() }

// Add adds an object in a random arm, in the entry state, and returns its id. O(1).
func (t *TWOMA) Add() int {
	if t.arms == 0 {
		panic("partition: a TWOMA that is a zero value: make it with NewTWOMA")
	}
	id := t.ids.Add()
	slot := ids.Slot(id)
	if slot == len(t.arm) {
		t.arm, t.depth = append(t.arm, 0), append(t.depth, 0)
	}
	t.arm[slot] = uint8(rand.New(t.src).IntN(t.arms))
	t.depth[slot] = uint8(t.cfg.Entry - 1)
	return id
}

// Remove removes an object. O(1). The error is ErrUnknown.
func (t *TWOMA) Remove(object int) error {
	if !t.ids.Remove(object) {
		return unknownObject(object)
	}
	return nil
}

// Next returns the arm from which to access an object. The error is ErrUnknown.
func (t *TWOMA) Next(object int) (int, error) {
	slot, ok := t.ids.Slot(object)
	if !ok {
		return 0, unknownObject(object)
	}
	return int(t.arm[slot]), nil
}

// Observe reports how long an access of an object from its arm took. A crawl is as many
// accesses as there are objects, in any order. O(1). The error is ErrUnknown or
// ErrDuration.
func (t *TWOMA) Observe(object int, duration float64) error {
	slot, ok := t.ids.Slot(object)
	if !ok {
		return unknownObject(object)
	}
	if err := checkDuration(object, duration); err != nil {
		return err
	}
	arm := t.arm[slot]
	average := t.means.observe(int(arm), duration, t.ids.Len())
	switch depth := t.depth[slot]; {
	case duration <= average:
		if int(depth) < t.cfg.States-1 {
			t.depth[slot] = depth + 1
		}
	case depth > 0:
		t.depth[slot] = depth - 1
	default:
		t.depth[slot] = uint8(t.cfg.Entry - 1)
		t.arm[slot] = uint8(t.newArm(int(arm)))
	}
	return nil
}

func (t *TWOMA) newArm(old int) int {
	rng := rand.New(t.src)
	if t.cfg.AnyArm {
		return rng.IntN(t.arms)
	}
	// Draw from all arms but the old one: the last arm takes its place.
	if arm := rng.IntN(t.arms - 1); arm != old {
		return arm
	}
	return t.arms - 1
}

var twomaFormat = codec.Format{Magic: "recrawl/partition.TWOMA", Version: 2}

// MarshalBinary returns the whole state.
func (t *TWOMA) MarshalBinary() ([]byte, error) { return twomaFormat.Save(t.encode) }

// UnmarshalBinary restores a saved state, which then continues bit for bit (see the package).
func (t *TWOMA) UnmarshalBinary(data []byte) error {
	return codec.Load(t, twomaFormat, data, (*TWOMA).decode)
}

func (t *TWOMA) encode(e *codec.Encoder) {
	e.Int(t.cfg.States)
	e.Int(t.cfg.Entry)
	e.Bool(t.cfg.AnyArm)
	e.Bool(t.cfg.LastCrawl)
	e.Int(t.arms)
	t.ids.Encode(e)
	e.Bytes(t.arm)
	e.Bytes(t.depth)
	t.means.encode(e)
	e.Source(t.src)
}

func (t *TWOMA) decode(d *codec.Decoder) {
	t.cfg.States = d.IntIn(1, math.MaxUint8)
	t.cfg.Entry = d.IntIn(1, t.cfg.States)
	t.cfg.AnyArm, t.cfg.LastCrawl = d.Bool(), d.Bool()
	t.arms = d.IntIn(2, math.MaxUint8+1)
	t.ids = ids.Decode(d)
	t.arm = bytesBelow(d, t.ids.Slots(), t.arms)
	t.depth = bytesBelow(d, t.ids.Slots(), t.cfg.States)
	t.means = decodeMeans(d, t.arms, t.cfg.LastCrawl)
	t.src = d.NeedSource()
}

// bytesBelow reads n bytes less than limit.
func bytesBelow(d *codec.Decoder, n, limit int) []byte {
	v := d.BytesLen(n)
	for i, b := range v {
		if int(b) >= limit {
			d.Fail("%d of object %d is not below %d", b, i, limit)
			break
		}
	}
	return v
}

func (a *armMeans) encode(e *codec.Encoder) {
	e.Float64s(a.last)
	for _, m := range a.now {
		e.Int(m.n)
		e.Float64(m.v)
	}
	e.Int(a.told)
}

func decodeMeans(d *codec.Decoder, arms int, lastCrawl bool) armMeans {
	a := armMeans{lastCrawl: lastCrawl, last: d.Float64s()}
	d.Require(len(a.last) == arms, "averages of %d arms, of %d", len(a.last), arms)
	for _, v := range a.last {
		d.Require(math.IsNaN(v) || v >= 0 && v <= math.MaxFloat64, "average %v", v)
		a.now = append(a.now, mean{n: d.IntIn(0, codec.MostCount), v: d.NonNegative()})
	}
	a.told = d.IntIn(0, codec.MostCount)
	return a
}
