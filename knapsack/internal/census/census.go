// Package census is what the rate filter knows of its pages as a whole: the Prior of all
// pages, from which those with few polls borrow; the Hedge, which estimates whether a schedule
// by rate can beat polling in turn at all; and the Patience, after which a page is
// polled that seems not worth it. All memories are a few polls or cycles per page.
package census

import (
	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/belief"
)

// period is how many polls apart prior and gain are computed, so that their cost, some 60
// divisions and exponentials, is small beside that of the polls.
const period = 16

// A Census holds all three.
type Census struct {
	Prior    Prior
	Hedge    Hedge
	Patience Patience
	until    uint8 // polls until prior and gain are computed anew
}

// New returns the census of pages of which nothing is known. patience is in cycles.
func New(patience float64) Census {
	return Census{Prior: newPrior(), Patience: Patience{cycles: patience}, until: period}
}

// Count takes in the posterior of one of n pages, observed for a time gap, and reports
// whether prior and gain are new ones.
func (c *Census) Count(b *belief.Belief, gap, cycle float64, n int) bool {
	c.Prior.count(b, gap, cycle, n)
	if c.until--; c.until > 0 {
		return false
	}
	c.until = period
	c.Prior.estimate(cycle, n)
	c.Hedge.estimate(cycle)
	return true
}

// Slide follows a move of the grid, see belief.Model.Rescale.
func (c *Census) Slide(by int) {
	c.Prior.slide(by)
	c.Hedge.slide(by)
}

// Encode writes the census.
func (c *Census) Encode(e *codec.Encoder) {
	c.Prior.encode(e)
	c.Hedge.encode(e)
	c.Patience.encode(e)
	e.Byte(c.until)
}

// Decode reads what Encode wrote.
func (c *Census) Decode(d *codec.Decoder) {
	c.Prior.decode(d)
	c.Hedge.decode(d)
	c.Patience.decode(d)
	c.until = d.ByteIn(1, period)
}
