package census

import (
	"math/bits"

	"github.com/recrawl/recrawl/knapsack/internal/fast"
)

// Enough is how many pages tell of all, and how many polls in a cycle: each share of Enough is
// known to 0.14 % then. Of more pages a sample votes, and of more polls a sample is judged by.
const Enough = 1 << 17

// Every returns one of how many polls is learnt from, of so many pages.
func (c *Census) Every(pages int) int { return 1 + pages/c.enough() }

// Votes returns as how many pages the page in a slot votes, 0 if it does not. Of the first Enough
// slots each votes as one; after that one of each two, four, … that are neighbours, as all of them:
// the more the further it is, twice as many from each power of two on. So the votes of n pages are
// n but for the last few neighbours, and some Enough/2·log n slots vote. Whether one does depends
// on nothing else, and a page that goes takes back what it came with.
func (c *Census) Votes(slot uint32) int {
	far := slot / uint32(c.enough())
	if far == 0 {
		return 1
	}
	each := uint32(1) << bits.Len32(far)
	if slot&(each-1) != mix(slot/each)&(each-1) {
		return 0
	}
	return int(each)
}

func (c *Census) enough() int {
	if c.Few > 0 {
		return c.Few
	}
	return Enough
}

// mix has no pattern: it takes a multiplication and the high bits of the product.
func mix(x uint32) uint32 {
	return uint32(uint64(x) * fast.Golden >> 32)
}
