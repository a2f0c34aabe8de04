package partition

import (
	"encoding"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/enum"
	"github.com/recrawl/recrawl/internal/grid"
	"github.com/recrawl/recrawl/internal/source"
)

// An OMAVariant is a member of the family of object migration automata. Each but the first
// adds something to an earlier one.
type OMAVariant uint8

const (
	// OMA is the automaton of Oommen & Ma (1988). It can deadlock: if two objects that belong
	// together are in different classes whose other objects are all internal, they are penalised in
	// vain for ever.
	OMA OMAVariant = iota
	// EOMA is the enhanced automaton (Gale, Das & Yu 1990). Objects start at the boundary. An
	// object at the boundary does not wait for its partner: it changes places with another boundary
	// object of the partner's class.
	EOMA
	// PEOMA is EOMA with pursuit (Shirvani & Oommen 2018). After κ = W(W−1)/2 queries it ignores
	// every pair that makes up less than 1/κ of all queries.
	PEOMA
	// TPEOMA is PEOMA with transitivity (Shirvani & Oommen 2020). A query (i, j) also counts as a
	// query (i, k) for every k that is often asked for together with j.
	TPEOMA
	// GCDOMA is EOMA on classes that consist of equal parts, each as large as the greatest common
	// divisor of the sizes (Omslandseter, Jiao & Oommen 2021). Objects in different parts of one
	// class count as together. When an object moves, it changes places with an object of its
	// partner's part. EOMA takes an object of the whole class and is stuck less often.
	GCDOMA
)

var omaNames = enum.Of[OMAVariant](ErrConfig, "OMA", "EOMA", "PEOMA", "TPEOMA", "GCDOMA")

// String returns the name of the constant.
func (v OMAVariant) String() string { return omaNames.String(v) }

// MarshalText returns the name that String gives.
func (v OMAVariant) MarshalText() ([]byte, error) { return omaNames.MarshalText(v) }

// UnmarshalText reads the name that String gives.
func (v *OMAVariant) UnmarshalText(text []byte) error { return omaNames.UnmarshalText(v, text) }

// A Partitioner groups objects into classes of given sizes, so that objects that are asked for
// together come to share a class. Report every query with Query and read the classes with Class.
// [NewCoAccess] makes the one that needs the fewest queries. [NewOMA] makes the automata of the
// literature, for comparison. Objects cannot be added or removed, and the sizes of the classes
// never change.
type Partitioner interface {
	// Query reports that objects i and j were asked for together. The error is ErrUnknown, also if
	// i and j are equal.
	Query(i, j int) error
	// Class returns the class of an object. The error is ErrUnknown.
	Class(object int) (int, error)

	// MarshalBinary saves the whole state, including the source of randomness if there is one.
	// UnmarshalBinary restores it into a Partitioner made by the same constructor, which takes over
	// the settings of the saved one and continues bit for bit (see the package). An error wraps
	// ErrCorrupt and leaves the Partitioner as it was.
	encoding.BinaryMarshaler
	encoding.BinaryUnmarshaler
}

// An ObjectMigration is an object migration automaton: a [Partitioner] that knows when it
// has settled. [NewOMA] makes one.
type ObjectMigration interface {
	Partitioner
	// Converged reports whether every object has settled. Under OMA a settled object is in the most
	// internal state, under the other variants in one of the two most internal states. O(1).
	Converged() bool
}

// objectMigration is a member of the OMA family.
type objectMigration struct {
	variant OMAVariant
	states  int
	sizes   []int
	src     rand.Source
	part    []int32 // of each object: its class, or under GCDOMA its part of the class
	state   []uint8 // of each object, 1 to states
	class   []int32 // of each part
	start   []int32 // objects of part p are member[start[p]:start[p+1]]
	member  []int32
	at      []int32 // index of each object in member
	outer   int     // objects in a state beyond inner()
	pairs   *pairCounts
}

// defaultOMAStates is the N of all tables of examples/partition.
const defaultOMAStates = 10

// NewOMA returns an object migration automaton of W objects, numbered from 0, where W is the sum of
// the sizes. Take it to compare with the literature; [NewCoAccess] needs fewer queries.
//
// The objects are spread at random over len(sizes) ≥ 2 classes of at least 2 objects each. Under
// GCDOMA the sizes need a common divisor of at least 2. Under OMA the objects start in random
// states, under the other variants at the boundary. states is N: 2 to 255, or 0 for 10. The error
// is ErrConfig. NewOMA panics if src is nil.
//
// # How it works
//
// Every object sits in one of N states of its class, state 1 the most internal and N the
// boundary. A query of two objects
//
//   - of the same class moves both one state inward;
//   - of different classes, neither at the boundary, moves both one state outward;
//   - of different classes, exactly one at the boundary, moves the other outward;
//   - of different classes, both at the boundary, moves the first to the boundary of the second's
//     class. In return an object of that class moves to the boundary of the first's class: the one
//     nearest to the boundary, except the second itself.
//
// The constants of [OMAVariant] say what each member of the family changes.
//
// # Guarantees
//
// The sizes need not be equal. But if the groups of some smaller classes fit together into a larger
// class, every variant may get stuck with these groups in that class.
//
// # Cost
//
// Time: O(size of the class) a query, W times that under TPEOMA. Memory: O(W), or O(W²) with
// pursuit.
func NewOMA(variant OMAVariant, sizes []int, states int, src rand.Source) (ObjectMigration, error) {
	source.Require(src, "partition")
	if states == 0 {
		states = defaultOMAStates
	}
	if err := checkFamily(variant, sizes, states); err != nil {
		return nil, err
	}
	p := &objectMigration{variant: variant, states: states, sizes: slices.Clone(sizes), src: src}
	p.layOut()
	if variant.counts() {
		p.pairs = newPairCounts(len(p.part))
	}
	rng := rand.New(src)
	for k, object := range rng.Perm(len(p.part)) {
		p.member[k] = int32(object)
	}
	p.seat()
	for i := range p.state {
		p.state[i] = uint8(states)
		if variant == OMA {
			p.state[i] = uint8(1 + rng.IntN(states))
		}
	}
	p.count()
	return p, nil
}

func checkFamily(variant OMAVariant, sizes []int, states int) error {
	const most = 1 << 31
	if err := omaNames.Check(variant); err != nil {
		return err
	}
	switch {
	case len(sizes) < 2:
		return fmt.Errorf("%w: %d classes", ErrConfig, len(sizes))
	case states < 2 || states > 255:
		return fmt.Errorf("%w: %d states", ErrConfig, states)
	}
	total := 0
	for c, s := range sizes {
		if s < 2 {
			return fmt.Errorf("%w: class %d: size %d", ErrConfig, c, s)
		}
		if s >= most-total {
			return fmt.Errorf("%w: class %d: size %d: %d objects or more in all", ErrConfig, c, s, most)
		}
		total += s
	}
	if g := commonDivisor(sizes); g < 2 && variant == GCDOMA {
		return fmt.Errorf("%w: sizes with greatest common divisor %d", ErrConfig, g)
	}
	if variant.counts() && total > maxCounted {
		return fmt.Errorf("%w: %d objects are too many to count pairs", ErrConfig, total)
	}
	return nil
}

// counts reports whether the variant counts pairs.
func (v OMAVariant) counts() bool { return v == PEOMA || v == TPEOMA }

func commonDivisor(sizes []int) (g int) {
	for _, s := range sizes {
		g = grid.GCD(s, g)
	}
	return g
}

// layOut makes the arrays for the sizes.
func (p *objectMigration) layOut() {
	g := commonDivisor(p.sizes)
	w := int32(0)
	for c, s := range p.sizes {
		part := s
		if p.variant == GCDOMA {
			part = g
		}
		for range s / part {
			p.class = append(p.class, int32(c))
			p.start = append(p.start, w)
			w += int32(part)
		}
	}
	p.start = append(p.start, w)
	p.part, p.state = make([]int32, w), make([]uint8, w)
	p.member, p.at = make([]int32, w), make([]int32, w)
}

// seat sets the part and the index of every object, from member.
func (p *objectMigration) seat() {
	for part := range p.class {
		for k := p.start[part]; k < p.start[part+1]; k++ {
			p.at[p.member[k]], p.part[p.member[k]] = k, int32(part)
		}
	}
}

func (p *objectMigration) count() {
	p.outer = 0
	for _, s := range p.state {
		if s > p.inner() {
			p.outer++
		}
	}
}

// Class returns the class of an object.
func (p *objectMigration) Class(object int) (int, error) {
	if err := checkObject(object, len(p.part)); err != nil {
		return 0, err
	}
	return int(p.class[p.part[object]]), nil
}

// inner is the outermost state in which an object counts as settled.
func (p *objectMigration) inner() uint8 {
	if p.variant == OMA {
		return 1
	}
	return 2
}

// Converged reports whether every object has settled.
func (p *objectMigration) Converged() bool { return p.outer == 0 }

// Query reports that two objects were asked for together.
func (p *objectMigration) Query(i, j int) error {
	if err := checkPair(i, j, len(p.part)); err != nil {
		return err
	}
	if p.pairs == nil {
		p.process(int32(i), int32(j))
		return nil
	}
	p.pursue(int32(i), int32(j))
	return nil
}

// process rewards or penalises a pair.
func (p *objectMigration) process(i, j int32) {
	n := uint8(p.states)
	a, b := p.part[i], p.part[j]
	atI, atJ := p.state[i] == n, p.state[j] == n
	switch {
	case p.class[a] == p.class[b]:
		p.move(i, max(1, p.state[i]-1))
		p.move(j, max(1, p.state[j]-1))
	case !atI && !atJ:
		p.move(i, p.state[i]+1)
		p.move(j, p.state[j]+1)
	case atI && atJ:
		p.exchange(i, p.nearest(b, j))
	case p.variant == OMA:
		p.moveOther(i, j, atI)
	default: // exactly one is at the boundary
		waiting, partner := i, j
		if atJ {
			waiting, partner = j, i
		}
		if k := p.nearest(p.part[partner], partner); p.state[k] == n {
			p.exchange(waiting, k)
		} else {
			p.moveOther(i, j, atI)
		}
	}
}

// moveOther moves outward the one of i and j that is not at the boundary.
func (p *objectMigration) moveOther(i, j int32, atI bool) {
	if atI {
		i = j
	}
	p.move(i, p.state[i]+1)
}

func (p *objectMigration) move(object int32, state uint8) {
	if p.state[object] > p.inner() {
		p.outer--
	}
	if state > p.inner() {
		p.outer++
	}
	p.state[object] = state
}

// nearest returns the object of a part, other than the given one, that is nearest to the boundary.
// Of several such objects it returns one at random.
func (p *objectMigration) nearest(part, except int32) int32 {
	best, ties := int32(-1), 0
	rng := rand.New(p.src)
	for _, object := range p.member[p.start[part]:p.start[part+1]] {
		switch {
		case object == except:
		case best < 0 || p.state[object] > p.state[best]:
			best, ties = object, 1
		case p.state[object] == p.state[best]:
			if ties++; rng.IntN(ties) == 0 {
				best = object
			}
		}
	}
	return best
}

// exchange swaps the parts of two objects and puts both at the boundary.
func (p *objectMigration) exchange(i, k int32) {
	p.member[p.at[i]], p.member[p.at[k]] = k, i
	p.at[i], p.at[k] = p.at[k], p.at[i]
	p.part[i], p.part[k] = p.part[k], p.part[i]
	p.move(i, uint8(p.states))
	p.move(k, uint8(p.states))
}

var partitionerFormat = codec.Format{Magic: "recrawl/partition.Partitioner", Version: 2}

// MarshalBinary returns the whole state.
func (p *objectMigration) MarshalBinary() ([]byte, error) { return partitionerFormat.Save(p.encode) }

// UnmarshalBinary restores a saved state, which then continues bit for bit (see the package).
func (p *objectMigration) UnmarshalBinary(data []byte) error {
	return codec.Load(p, partitionerFormat, data, (*objectMigration).decode)
}

func (p *objectMigration) encode(e *codec.Encoder) {
	e.Byte(byte(p.variant))
	e.Ints(p.sizes)
	e.Int(p.states)
	e.Int(len(p.member))
	for _, object := range p.member {
		e.Uint32(uint32(object))
	}
	e.Bytes(p.state)
	if p.pairs != nil {
		p.pairs.encode(e)
	}
	e.Source(p.src)
}

func (p *objectMigration) decode(d *codec.Decoder) {
	p.variant = codec.Enum[OMAVariant](d, omaNames.Len())
	p.sizes = d.IntsIn(codec.AnyLen, 2, math.MaxInt32)
	p.states = d.IntIn(2, math.MaxUint8)
	member := d.Uint32s()
	if d.Err() == nil {
		d.Check(checkFamily(p.variant, p.sizes, p.states))
	}
	total := 0
	for _, s := range p.sizes {
		total += s
	}
	d.Require(len(member) == total, "%d objects in classes for %d", len(member), total)
	if d.Err() != nil {
		return
	}
	p.layOut()
	seen := make([]bool, total)
	for k, object := range member {
		if int(object) >= total || seen[object] {
			d.Fail("object %d listed twice, or unknown", object)
			return
		}
		seen[object] = true
		p.member[k] = int32(object)
	}
	p.seat()
	p.state = d.BytesLen(total)
	for i, s := range p.state {
		d.Require(s >= 1 && int(s) <= p.states, "object %d in state %d", i, s)
	}
	p.count()
	if p.variant.counts() {
		p.pairs = decodePairCounts(d, total)
	}
	p.src = d.NeedSource()
}
