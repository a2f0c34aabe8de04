package partition

import (
	"fmt"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
)

// coAccess counts the queries of every pair.
type coAccess struct {
	sizes  []int
	class  []int32
	counts *pairCounts
	links  []uint32 // queries of object i with the members of class c at i·len(sizes) + c
}

// NewCoAccess returns a [Partitioner] that counts how often each pair was asked for together. It
// swaps two objects of different classes as long as that puts more of the counted queries within
// classes. Take it unless it needs too much memory: it needs only a small part of the queries that
// an object migration automaton ([NewOMA]) needs.
//
// Objects are numbered 0..W-1, where W ≤ 65536 is the sum of the sizes. At first they are placed in
// order in classes of the given sizes. There must be at least 2 classes, each of at least 1 object.
// The error is ErrConfig.
//
// # Guarantees
//
// The partition is a local optimum: no swap of two objects improves it. With classes of unequal
// sizes, an exchange of several objects at once might improve it.
//
// # Cost
//
// Time: O(W) for a query that leaves the partition as it is, O(W²) for each swap. Memory: O(W²), 4
// bytes for each pair of objects and for each pair of an object and a class. It uses no randomness.
func NewCoAccess(sizes []int) (Partitioner, error) {
	if err := checkSizes(sizes); err != nil {
		return nil, err
	}
	c := &coAccess{sizes: slices.Clone(sizes)}
	for k, s := range sizes {
		for range s {
			c.class = append(c.class, int32(k))
		}
	}
	c.counts = newPairCounts(len(c.class))
	c.links = make([]uint32, len(c.class)*len(sizes))
	return c, nil
}

func checkSizes(sizes []int) error {
	if len(sizes) < 2 {
		return fmt.Errorf("%w: %d classes", ErrConfig, len(sizes))
	}
	total := 0
	for k, s := range sizes {
		if s < 1 {
			return fmt.Errorf("%w: class %d: size %d", ErrConfig, k, s)
		}
		if s > maxCounted-total {
			return fmt.Errorf("%w: class %d: size %d: more than %d objects in all", ErrConfig, k, s, maxCounted)
		}
		total += s
	}
	return nil
}

// Class returns the class of an object.
func (c *coAccess) Class(object int) (int, error) {
	if err := checkObject(object, len(c.class)); err != nil {
		return 0, err
	}
	return int(c.class[object]), nil
}

// mostQueries is the most queries that are counted, so that no sum of counts overflows. If sums
// overflowed, swaps could go on for ever.
const mostQueries = math.MaxUint32

// Query reports that two objects were asked for together.
func (c *coAccess) Query(i, j int) error {
	if err := checkPair(i, j, len(c.class)); err != nil {
		return err
	}
	if c.counts.queries >= mostQueries {
		return nil
	}
	a, b := int32(i), int32(j)
	c.counts.add(a, b)
	*c.link(a, c.class[b])++
	*c.link(b, c.class[a])++
	if c.class[a] == c.class[b] {
		return nil
	}
	// The query makes only swaps of i or j worth more. After a swap, any other swap may be worth
	// it.
	swapped := false
	for c.improve(a) || c.improve(b) {
		swapped = true
	}
	for swapped {
		swapped = false
		for k := range c.class {
			swapped = c.improve(int32(k)) || swapped
		}
	}
	return nil
}

func (c *coAccess) link(object, class int32) *uint32 {
	return &c.links[int(object)*len(c.sizes)+int(class)]
}

// improve swaps an object with the object of another class that gains the most, if any swap gains.
// Every swap increases the number of queries within classes, so a sequence of swaps ends.
func (c *coAccess) improve(a int32) bool {
	best, most := int32(-1), int64(0)
	from := c.class[a]
	for k := range c.class {
		b := int32(k)
		to := c.class[b]
		if to == from {
			continue
		}
		gain := int64(*c.link(a, to)) + int64(*c.link(b, from)) - int64(*c.link(a, from)) - int64(*c.link(b, to)) -
			2*int64(c.counts.count[pairIndex(a, b)])
		if gain > most {
			best, most = b, gain
		}
	}
	if best < 0 {
		return false
	}
	to := c.class[best]
	for k := range c.class {
		object := int32(k)
		var withA, withB uint32
		if object != a {
			withA = c.counts.count[pairIndex(object, a)]
		}
		if object != best {
			withB = c.counts.count[pairIndex(object, best)]
		}
		*c.link(object, from) += withB - withA
		*c.link(object, to) += withA - withB
	}
	c.class[a], c.class[best] = to, from
	return true
}

var coAccessFormat = codec.Format{Magic: "recrawl/partition.CoAccess", Version: 2}

// MarshalBinary returns the whole state.
func (c *coAccess) MarshalBinary() ([]byte, error) { return coAccessFormat.Save(c.encode) }

// UnmarshalBinary restores a saved state, which then continues bit for bit (see the package).
func (c *coAccess) UnmarshalBinary(data []byte) error {
	return codec.Load(c, coAccessFormat, data, (*coAccess).decode)
}

func (c *coAccess) encode(e *codec.Encoder) {
	e.Ints(c.sizes)
	e.Int(len(c.class))
	for _, k := range c.class {
		e.Uint32(uint32(k))
	}
	c.counts.encode(e)
}

func (c *coAccess) decode(d *codec.Decoder) {
	sizes, class := d.Ints(), d.Uint32s()
	n := len(class)
	counts := decodePairCounts(d, n) // bounds n by the size of the data
	if d.Err() == nil {
		d.Check(checkSizes(sizes))
	}
	left := slices.Clone(sizes)
	for k, v := range class {
		if int(v) >= len(left) || left[v] == 0 {
			d.Fail("object %d in class %d", k, v)
			return
		}
		left[v]--
		c.class = append(c.class, int32(v))
	}
	sum := uint64(0)
	for _, n := range counts.count {
		sum += uint64(n)
	}
	d.Require(sum == counts.queries && sum <= mostQueries, "%d queries, counts of %d", counts.queries, sum)
	d.Require(!slices.ContainsFunc(left, func(n int) bool { return n > 0 }), "%d objects are too few", n)
	if d.Err() != nil {
		return
	}
	c.sizes, c.counts, c.links = sizes, counts, make([]uint32, n*len(sizes))
	for j := range int32(n) {
		for i := range j {
			count := c.counts.count[pairIndex(i, j)]
			*c.link(i, c.class[j]) += count
			*c.link(j, c.class[i]) += count
		}
	}
}
