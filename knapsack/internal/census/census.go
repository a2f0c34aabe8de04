// Package census is what the rate filter knows of its pages as a whole:
//
//   - Prior: the mean of what is believed of all pages, from which those with few polls borrow;
//   - Hedge: whether a schedule by rate can beat polling in turn at all;
//   - Calibration: by how much probabilities of change are too high or too low;
//   - Untouched: how pages that were never known to change differ from the others;
//   - Waking: by how much more is to be expected of pages that wait;
//   - Sequel: what a find leads to;
//   - Youth: how pages change at what age.
//
// All but the Youth forget within some polls per page. Of many pages a sample tells of all: Votes says
// which have a vote in the prior, and Every one of how many polls the others learn from.
package census

import (
	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/belief"
)

// period is how many polls apart prior and gain are computed, so that their cost, some 60
// divisions and exponentials, is small beside that of the polls.
const period = 16

// A Census holds them all.
type Census struct {
	Prior       Prior
	Hedge       Hedge
	Calibration Calibration
	Untouched   Untouched
	Waking      Waking
	Sequel      Sequel
	Youth       Youth
	Few         int   // in place of Enough, unless 0; a power of two. For tests, and not saved
	until       uint8 // votes until prior and gain are computed anew
}

// New returns the census of so many pages of which nothing is known. calibrated says that the Calibration tells
// what is so of all pages, and of Untouched only Shift is asked for.
func New(pages int, calibrated bool) Census {
	return Census{Prior: newPrior(pages), Calibration: newCalibration(), Untouched: newUntouched(calibrated), Waking: newWaking(), until: period}
}

// Count takes in that the belief about a page has changed that votes as so many, and reports
// whether prior and gain are new ones.
func (c *Census) Count(before, now *belief.Belief, votes int, cycle float64) bool {
	c.Prior.Vote(before, now, votes)
	if c.until--; c.until > 0 {
		return false
	}
	c.until = period
	c.Prior.estimate()
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
	c.Calibration.encode(e)
	c.Untouched.encode(e)
	c.Waking.encode(e)
	c.Sequel.encode(e)
	c.Youth.encode(e)
	e.Byte(c.until)
}

// Decode reads what Encode wrote. calibrated is as for New.
func (c *Census) Decode(d *codec.Decoder, calibrated bool) {
	c.Prior.decode(d)
	c.Hedge.decode(d)
	c.Calibration.decode(d, usual)
	c.Untouched.pace = paceOf(calibrated)
	c.Untouched.decode(d, c.Untouched.pace)
	c.Waking.decode(d, usual)
	c.Sequel.decode(d)
	c.Youth.decode(d)
	c.until = d.ByteIn(1, period)
}
