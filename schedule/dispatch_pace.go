package schedule

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/portable"
)

// A pace compares the time that sites took with the time predicted for them.
type pace struct{ actual, planned float64 }

// The tuned values for what is learned about clients. This command measures each value halved, as
// it is, and doubled:
//
//	go test ./schedule -v -run Sweep -sweep
var (
	// paceMemory is how many typical sites a client's pace looks back over.
	paceMemory = 8.0
	// A client's own pace starts as if it had done paceDoubt typical sites at the pace of all
	// clients. The pace of all clients starts as if commonDoubt typical sites had taken the
	// predicted time.
	paceDoubt, commonDoubt = 1.0, 2.0
	// patienceSpreads is the number of standard deviations after which a client is silent. They are
	// those of the logarithm of actual over expected time. Without this rule, crawls in which that
	// logarithm has a spread of 1 end 4 % later.
	patienceSpreads = 2.5
)

// At first the spread of these logarithms is taken to be priorMiss, with a weight of priorMisses
// sites. A single logarithm counts as mostMiss at most.
const priorMiss, priorMisses, mostMiss = .35, 4, 3

// misses has the sum of squares and the number of the logarithms of actual over expected times.
type misses struct {
	squares float64
	count   int
}

func (m misses) spread() float64 {
	return math.Sqrt((m.squares + priorMisses*priorMiss*priorMiss) / float64(m.count+priorMisses))
}

// patience returns how many times as long as expected a client may hold a site.
func (d *Dispatcher) patience() float64 {
	if d.cfg.Patience != 0 {
		return d.cfg.Patience
	}
	return max(leastPatience, portable.Exp(patienceSpreads*d.misses.spread()))
}

// leastKept is the least share of the old pace that remains after one site, however long the site
// is.
const leastKept = .5

// Paces are kept within these bounds, so that the arithmetic stays finite.
const leastPace, mostPace = 1e-30, 1e30

// learn updates the paces with the time for which a client held a site.
func (d *Dispatcher) learn(client int, spent float64) {
	c := &d.client[client]
	spent = min(max(0, spent-d.begins(client)), math.MaxFloat64) // times may lie far apart
	predicted := d.duration(c.holds, client)
	miss := min(mostMiss, math.Abs(portable.Log(spent/predicted/d.paceOf(c.pace))))
	d.misses.squares += float64(miss * miss)
	d.misses.count = min(d.misses.count+1, codec.MostCount)
	c.pace.add(spent, predicted, max(leastKept, portable.Exp(-predicted/(paceMemory*d.typical))))
	d.all.add(spent, predicted, 1)
}

// add adds a site, and keeps a share of the pace so far.
func (p *pace) add(actual, planned, keep float64) {
	p.actual = min(float64(p.actual*keep)+actual, math.MaxFloat64)
	p.planned = min(float64(p.planned*keep)+planned, math.MaxFloat64)
}

// over returns the pace as a factor of predicted durations. The doubt counts as that much predicted
// time at the given factor.
func (p pace) over(doubt, factor float64) float64 {
	actual, planned := p.actual+float64(doubt*factor), p.planned+doubt // either may be too much for a number
	return min(mostPace, max(leastPace, min(actual, math.MaxFloat64)/min(planned, math.MaxFloat64)))
}

// paceOf returns the factor by which a client with the pace p is expected to exceed predictions.
func (d *Dispatcher) paceOf(p pace) float64 {
	return p.over(float64(paceDoubt*d.typical), d.all.over(float64(commonDoubt*d.typical), 1))
}

// factor returns the factor by which a client is expected to exceed predictions. It is learned from
// the sites that the client finished, and from the site that it holds if that is late already.
func (d *Dispatcher) factor(client int) float64 {
	c := &d.client[client]
	factor := d.paceOf(c.pace)
	if c.holds == None {
		return factor
	}
	predicted, held := d.duration(c.holds, client), d.now-c.since-d.begins(client)
	if held <= factor*predicted {
		return factor
	}
	p := c.pace
	p.add(min(held, math.MaxFloat64), predicted, 1)
	return d.paceOf(p)
}

// expected returns how long a site is expected to take a client.
func (d *Dispatcher) expected(z int32, client int) float64 {
	return d.factor(client) * d.duration(z, client)
}

// begins returns the setup that a client has yet to pay, or pays with the site that it holds.
func (d *Dispatcher) begins(client int) float64 {
	if d.client[client].started {
		return 0
	}
	return d.setup(client)
}

// ends predicts when a client can work on another site: after the site that it holds, or after its
// setup for the first site. An overdue client is expected to need as long again as it has held the
// site. A client that should have asked is expected to be late for as long again. A silent or
// removed client is expected not to come back.
func (d *Dispatcher) ends(client int) float64 {
	d.looks.Spend(1)
	c := &d.client[client]
	switch {
	case c.gone || c.silent:
		return math.Inf(1)
	case c.holds == None:
		return max(c.since, d.now+(d.now-c.since)) + d.begins(client)
	case d.done[c.holds]:
		return d.now
	}
	end := c.since + d.begins(client) + float64(d.factor(client)*d.duration(c.holds, client))
	if end < d.now {
		return d.now + (d.now - c.since)
	}
	return end
}
