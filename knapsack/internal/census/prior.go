package census

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/belief"
)

// A Prior is the average of the beliefs about all pages. Each page has one vote, which its belief
// shares out among the hypotheses.
type Prior struct {
	votes, factor  belief.Prior
	landing        belief.Row
	total          float64 // of votes
	mean, variance float64 // of the log rate among all pages, in cells
}

const (
	// flatVotes is how many votes without evidence there are beside the vote of each page. The
	// belief after few polls has the prior in it, which would confirm itself.
	flatVotes = 2
	// landingVotes is the same for Landing. 0.01 to 0.1 differ by less than 2 % in the delays of
	// four recorded histories, 1 is 5 to 15 % worse.
	landingVotes = 0.1
	// leastVotes keeps a hypothesis from dying out by rounding.
	leastVotes = 1e-3
	// roundedUp is by how much a share may be above 1.
	roundedUp = 1e-9
)

func newPrior(pages int) (p Prior) {
	for c, k := range belief.Hypothesis {
		p.votes[c][k] = float64(pages) * belief.FlatWeight(c)
	}
	p.estimate()
	return p
}

// Factor returns the prior relative to the flat one.
func (p *Prior) Factor() *belief.Prior { return &p.factor }

// Rates returns how likely each rate is for a page of all.
func (p *Prior) Rates() (share belief.Row) {
	for c, k := range belief.Hypothesis {
		share[k] += p.votes[c][k] / p.total
	}
	return share
}

// Moments returns the mean and the variance of the log rate among all pages, in cells.
func (p *Prior) Moments() (mean, variance float64) { return p.mean, p.variance }

// Landing returns the probabilities of the rates to which pages jump: those of all pages.
func (p *Prior) Landing() *belief.Row { return &p.landing }

// Vote takes in that the belief about a page has changed that votes as so many. Both are informed
// by the prior; the zero Belief has no vote, for a page that comes or goes.
func (p *Prior) Vote(before, now *belief.Belief, votes int) {
	p.votes.Move(before, now, float64(votes), leastVotes)
}

// estimate computes the factor and the landing.
func (p *Prior) estimate() {
	p.total = 0
	for c, k := range belief.Hypothesis {
		p.votes[c][k] = max(leastVotes, p.votes[c][k])
		p.total += p.votes[c][k]
	}
	for c, k := range belief.Hypothesis {
		ratio := p.votes[c][k] / (p.total * belief.FlatWeight(c))
		p.factor[c][k] = (ratio + flatVotes) / (1 + flatVotes)
	}
	for k, share := range p.Rates() {
		p.landing[k] = (share + landingVotes/belief.Cells) / (1 + landingVotes)
	}
	p.measure()
}

// measure computes mean and variance from the landing, which is saved.
func (p *Prior) measure() {
	share := p.landing
	for k, x := range share {
		share[k] = float64(x*(1+landingVotes)) - landingVotes/belief.Cells
	}
	p.mean, p.variance = belief.Moments(&share)
}

func (p *Prior) slide(by int) {
	p.votes.Slide(by)
	p.estimate()
}

func (p *Prior) encode(e *codec.Encoder) {
	for c := range p.votes {
		e.Float64s(p.votes[c][:])
		e.Float64s(p.factor[c][:])
	}
	e.Float64s(p.landing[:])
	e.Float64(p.total)
}

func (p *Prior) decode(d *codec.Decoder) {
	for c := range p.votes {
		decodeRow(d, &p.votes[c])
		decodeRow(d, &p.factor[c])
	}
	copy(p.landing[:], d.Float64sIn(len(p.landing), 0, 1+roundedUp))
	p.total = d.Float64In(leastVotes, math.MaxFloat64)
	p.measure()
	for c, k := range belief.Hypothesis {
		d.Require(p.factor[c][k] > 0, "a prior of %v", p.factor[c][k])
	}
}
