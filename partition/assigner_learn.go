package partition

import (
	"math"

	"github.com/recrawl/recrawl/internal/portable"
)

const (
	longest    = 1e15 // the longest duration; its square fits a float32
	leastNoise = 1e-3 // the least relative noise; durations are rounded and never quite exact
)

// relativeNoise estimates, over all sites, the variance of a duration divided by its squared mean,
// and the mean level of a site.
type relativeNoise struct {
	squares, means float64 // sums of squared residuals and squared means
	n              float64 // number of repeats behind the sums
	level          float64 // mean of the first durations
	firsts         float64
}

func newRelativeNoise() relativeNoise {
	return relativeNoise{squares: tuned.priorSquares, means: tuned.priorRepeats, n: tuned.priorRepeats}
}

func (r *relativeNoise) variance() float64 {
	return max(r.squares/r.means, leastNoise*leastNoise)
}

// skewed reports whether noise is so large that durations must have a long tail, because they are
// positive.
func (r *relativeNoise) skewed() bool { return r.variance() > tuned.skewedVariance }

// repeat adds a squared residual and a squared mean, both in units of the site's level.
func (r *relativeNoise) repeat(square, mean float64) {
	if r.n < tuned.noiseMemory {
		r.n++
	} else {
		r.squares -= r.squares / tuned.noiseMemory
		r.means -= r.means / tuned.noiseMemory
	}
	r.squares += square
	r.means += mean
}

// level returns the mean of a site's durations over the arms that it has tried, or the argument
// otherwise if it has tried none.
func (s *siteState) level(slot, width int, otherwise float64) float64 {
	sum, n := 0.0, 0
	for k := slot * width; k < (slot+1)*width; k++ {
		if s.count[k] > 0 {
			sum += float64(s.base[k])
			n++
		}
	}
	if n == 0 {
		return otherwise
	}
	return sum / float64(n)
}

// forget makes every arm of a site untried.
func (s *siteState) forget(slot, width int) {
	clear(s.base[slot*width : (slot+1)*width])
	clear(s.count[slot*width : (slot+1)*width])
	s.up[slot], s.down[slot] = 0, 0
}

// sigma returns the standard deviation of a site's durations in its fastest arm, where it is
// measured most, and its mean there, which is its least mean. The standard deviation is estimated
// from the site's own residuals. It is drawn towards the relative noise of all sites, applied to
// that mean.
func (a *Assigner) sigma(slot int) (sigma, least float64) {
	s := &a.site
	least = math.Inf(1)
	for k := slot * a.width; k < (slot+1)*a.width; k++ {
		if s.count[k] > 0 {
			least = min(least, float64(s.base[k]))
		}
	}
	if math.IsInf(least, 1) {
		return 0, 0
	}
	all := a.relative.variance() * least * least
	return math.Sqrt((float64(tuned.shrinkage*all) + float64(s.squares[slot])) / (tuned.shrinkage + float64(s.repeats[slot]))), least
}

// learn updates everything with the duration of a site from its arm.
func (a *Assigner) learn(slot int, duration float64) {
	s := &a.site
	j := int(s.at[slot])
	arm := &a.arm[j]
	k := slot*a.width + j
	arm.answers++
	slowness := a.slowness(j)
	alone := min(duration/slowness, 10*longest)
	n := float64(s.count[k])
	if arm.down {
		if n == 0 || !arm.attempt(a.factor(alone, float64(s.base[k])), a.Len()) {
			return // a site learns nothing from an arm that is down
		}
		a.checkOpen()
	}
	if n == 0 {
		a.relative.firsts = min(a.relative.firsts+1, tuned.noiseMemory)
		a.relative.level += (alone - a.relative.level) / a.relative.firsts
	} else {
		mean := float64(s.base[k])
		// The mean of n durations varies too, so the variance of the residual is 1 + 1/n times that
		// of a duration.
		residual := (alone - mean) * math.Sqrt(n/(n+1))
		sigma, _ := a.sigma(slot)
		z := a.standardised(residual, mean, sigma)
		if n >= tuned.alarmAfter && mean > 0 && a.notice(j, z, alone, mean) { // any duration is infinitely more than a mean of 0
			return
		}
		arm.track(duration, mean)
		if a.changed(slot, max(-tuned.surprise, min(tuned.surprise, z))) {
			s.forget(slot, a.width)
			n = 0
		} else {
			alone = a.own(j, duration, alone)
			residual = (alone - mean) * math.Sqrt(n/(n+1))
			a.remember(slot, residual, sigma, float64(alone*mean))
		}
	}
	if n == 0 {
		s.base[k], s.count[k] = float32(alone), 1
	} else {
		mean := float64(s.base[k])
		s.base[k] = float32(mean + (alone-mean)/(n+1))
		s.count[k] = uint8(min(n+1, tuned.memory))
	}
	arm.work = max(0, arm.work+(float64(s.base[k])-float64(s.held[slot]))) // in double precision, like the sum
	s.held[slot] = s.base[k]
}

// factor returns how many times as long as expected an access took. Rounded durations may all be 0;
// for such a site the level of all sites is expected.
func (a *Assigner) factor(alone, mean float64) float64 {
	if mean == 0 {
		mean = a.relative.level
	}
	if mean == 0 {
		return 1
	}
	return alone / mean
}

// standardised returns a residual in standard deviations. If noise is skewed, long durations are
// less of a surprise. They count as under a Gamma law with that mean and standard deviation, whose
// cube root is about normal (Wilson and Hilferty 1931).
func (a *Assigner) standardised(residual, mean, sigma float64) float64 {
	if residual == 0 { // sigma may be 0 as well
		return 0
	}
	z := residual / sigma
	if z > 0 && mean > 0 && sigma > 0 && a.relative.skewed() {
		c := sigma / mean
		z = max(0, min(z, 3/c*(portable.Cbrt(1+residual/mean)-1+float64(c*c)/9)))
	}
	return z
}

// changed adds a standardised residual to the site's CUSUM in both directions, and reports whether
// one of the two is above the threshold.
func (a *Assigner) changed(slot int, z float64) bool {
	s := &a.site
	up := max(0, float64(s.up[slot])+z-tuned.slack)
	down := max(0, float64(s.down[slot])-z-tuned.slack)
	s.up[slot], s.down[slot] = float32(up), float32(down)
	sum := max(up, down)
	return sum > a.cfg.Threshold && sum > a.threshold() // the second takes a logarithm
}

// threshold is the threshold of the change detection. With many arms it is higher: by as much as
// makes false alarms under Gaussian noise rarer by the square of many.
func (a *Assigner) threshold() float64 {
	if many := a.many(); many > 1 {
		return a.cfg.Threshold + portable.Log(many)/tuned.slack
	}
	return a.cfg.Threshold
}

// remember adds a residual to the noise of the site and to that of all sites.
func (a *Assigner) remember(slot int, residual, sigma, squaredMean float64) {
	s := &a.site
	square := residual * residual
	if level := s.level(slot, a.width, 0); level > 0 {
		a.relative.repeat(square/(level*level), squaredMean/(level*level))
	}
	if s.repeats[slot] < uint8(tuned.memory) {
		s.repeats[slot]++
	} else {
		s.squares[slot] -= s.squares[slot] / float32(tuned.memory)
	}
	s.squares[slot] += float32(min(square, float64(tuned.surprise*tuned.surprise*sigma*sigma)))
}
