package binpack

import "math"

const (
	// initialVolatility is assumed before the first call; it counts as one call, so a few calls
	// outweigh it.
	initialVolatility = .01
	// volatilityCalls is roughly the number of calls over which the volatility is averaged. It is
	// large enough that one jump counts little, and smaller than the hours of a day, so that the
	// volatility follows the course of a day.
	volatilityCalls = 16
	// calmTime is the time without any change in which the volatility fades. It is several times
	// volatilityCalls, because a caller may call more often than weights are measured. The assumed
	// volatility counts for less and fades over volatilityCalls.
	calmTime = 4 * volatilityCalls
	// calm is the volatility below which nothing is kept free. The headroom would be only a
	// two-thousandth, and a fleet at rest can be filled exactly.
	calm = 1e-5
	// mostHeadroom bounds what a few wild calls may cost: one node in eight.
	mostHeadroom = 1. / 8
)

// headroom is PackerConfig.Headroom as a share of a capacity.
func (p *Packer) headroom() float64 {
	if p.cfg.KeepMaximum || p.volatility < calm {
		return 0
	}
	return min(float64(p.cfg.Headroom*math.Sqrt(p.volatility)), mostHeadroom)
}

// early is PackerConfig.Early for the present volatility.
func (p *Packer) early() float64 {
	if p.volatility < calm {
		return 0
	}
	return min(p.cfg.Early, math.Sqrt(p.volatility))
}

// measure updates the volatility with the changes since the last call. It takes the mean of
// absolute values over the nodes in use and those that changed, so that one site that jumps counts
// little.
func (p *Packer) measure(elapsed float64) {
	sum, nodes := 0., 0
	for n := range p.state {
		most := 0.
		for k := range p.resource {
			q := &p.resource[k]
			most = max(most, math.Abs(float64(q.change[n]))/float64(q.capacity[n]))
			q.change[n] = 0
		}
		if most > 0 || p.state[n].sites > 0 {
			sum += most
			nodes++
		}
	}
	if sum > 0 {
		p.measured = min(p.measured+1, volatilityCalls)
		p.volatility += (sum/float64(nodes) - p.volatility) / float64(p.measured+1)
	} else if elapsed > 0 {
		fades := float64(calmTime)
		if p.measured == 0 { // the volatility is only assumed
			fades = volatilityCalls
		}
		p.volatility *= max(0, 1-float64(elapsed/fades))
	}
}
