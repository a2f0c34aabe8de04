package census

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/fast"
)

// A Youth learns how much more or less than expected pages change by their age, the time since they were added
// while the crawl ran. Articles and job offers are written, corrected in their first hours, and rest then. The rates of
// the pages that were there before tell nothing of that. Untouched pages and others are learnt apart: an article that was
// never changed and one that was are not equally likely to change again.
//
// Ages are in intervals, each twice as long as the one before. In an interval a page changes e^θ times as much as is
// believed of it. All θ of a kind are learnt together, by an extended Kalman filter on the likelihood of changed or
// not, as in a correction. Before any poll, θ of one interval is like that of its neighbours. A poll whose gap
// is over more than one interval counts in each by its share in what was expected. What is applied follows θ taken half a
// standard deviation nearer to 0, with the blocks of polls.
//
// The zero value has no unit of time: see Begin.
type Youth struct {
	exponent int // the first interval ends at the age 2^exponent
	known    bool
	kinds    [2]youths
	left     countdown
}

// youths is what is known of the pages of a kind, by interval.
type youths struct {
	theta      [youthIntervals]float64
	covariance [youthIntervals][youthIntervals]float64
	// applied is what is applied of θ, and times e^applied.
	applied, times [youthIntervals]float64
}

const (
	// youthIntervals is how many there are. The first ends at 2^−youngestAge to 2^(1−youngestAge) of a cycle, and
	// the last one at 64 to 128 cycles: pages that are older are not young.
	youthIntervals, youngestAge = 18, 11
	// youthLevel is the variance, before any poll, of what all θ of a kind have in common, and youthTrend that of what
	// changes with the age: by e^−1 in youthReach intervals. With intervals that are learnt one by one, each with a
	// variance of 4, and young pages that never settle among the others, copies of files that come with the versions of
	// three Go modules are .96 times as fresh and their delays 1.11 times as long as without a Youth, at two budgets.
	// With both it is .99 and 1.02 times.
	youthLevel, youthTrend, youthReach = 1, 1, 4
	mostCovariance                     = youthLevel + youthTrend
	// What is known is forgotten in youthMemory polls of a kind. mostYouth bounds θ.
	youthMemory, mostYouth = 32768, 8
	// offUnit is how far the intervals may be off, in powers of two, until they follow the cycle.
	offUnit = 0.25
)

var leastTimes = math.Exp(-mostYouth)

// youthPrior is the covariance before any poll.
var youthPrior = func() (prior [youthIntervals][youthIntervals]float64) {
	for i := range prior {
		for j := range prior {
			prior[i][j] = youthLevel + float64(youthTrend*fast.Exp(-math.Abs(float64(i-j))/youthReach))
		}
	}
	return prior
}()

// Known reports whether there is a unit of time.
func (y *Youth) Known() bool { return y.known }

// Begin sets the unit of time, unless there is one.
func (y *Youth) Begin(cycle float64) {
	if y.known {
		return
	}
	y.known, y.exponent = true, exponentFor(cycle)
	unknown := youths{covariance: youthPrior}
	for i := range unknown.times {
		unknown.times[i] = 1
	}
	y.kinds = [2]youths{unknown, unknown}
}

func exponentFor(cycle float64) int { return math.Ilogb(cycle) - youngestAge + 1 }

// Follow moves the intervals to where they are for a cycle, once they are clearly off. What is known of ages stays;
// those that come in begin with what is known of their neighbours.
func (y *Youth) Follow(cycle float64) {
	if !y.known {
		return
	}
	off := math.Log2(cycle) - float64(y.exponent+youngestAge-1)
	if off >= -offUnit && off <= 1+offUnit {
		return
	}
	by := exponentFor(cycle) - y.exponent
	y.exponent += by
	for k := range y.kinds {
		y.kinds[k].slide(by)
	}
}

// slide moves what is known by so many intervals towards the youngest.
func (y *youths) slide(by int) {
	old := *y
	from := func(i int) int { return max(0, min(youthIntervals-1, i+by)) }
	for i := range youthIntervals {
		y.theta[i], y.applied[i], y.times[i] = old.theta[from(i)], old.applied[from(i)], old.times[from(i)]
		for j := range youthIntervals {
			y.covariance[i][j] = old.covariance[from(i)][from(j)]
		}
	}
}

// interval returns the one that an age is in, youthIntervals or more for one that is not young.
func (y *Youth) interval(age float64) int { return max(0, math.Ilogb(age)+1-y.exponent) }

// Young reports whether a page of some age is.
func (y *Youth) Young(age float64) bool { return y.known && y.interval(age) < youthIntervals }

// Times returns how many times as much as is believed a page changes between two ages, in the mean, and from the second
// one on. The first one is young. The latter is half way, in log, from the mean to what is applied at the second age. By
// that alone copies are up to 5 % staler where rates stay, and by the mean alone they are .95 times as fresh in the mean of
// eight webs of pages that come, at three budgets.
func (y *Youth) Times(from, to float64, wasTouched bool) (mean, at float64) {
	of := &y.kinds[kindOfPage(wasTouched)]
	sum := 0.0
	for i, span := range y.spans(from, to) {
		sum += float64(span * of.timesIn(i))
	}
	at = y.at(of, to)
	if !(to > from) {
		return at, at
	}
	mean = max(leastTimes, sum/(to-from)) // a product of tiny numbers may be 0
	return mean, math.Sqrt(mean * at)
}

// timesIn returns what is applied to an interval, or to what is in none.
func (y *youths) timesIn(i int) float64 {
	if i < youthIntervals {
		return y.times[i]
	}
	return 1
}

// at returns how many times as much a page changes at an age. Between the middles of intervals that goes evenly, by the
// logarithms: the index of a page would leap where an interval ends, and be found late.
func (y *Youth) at(of *youths, age float64) float64 {
	const middle = 0.5
	x := fast.Log(age)/math.Ln2 - float64(y.exponent) + middle // the middle of interval i is at i
	i := int(max(0, min(youthIntervals, math.Floor(x))))
	part := max(0, min(1, x-float64(i)))
	return fast.Exp(float64((1-part)*of.appliedIn(i)) + float64(part*of.appliedIn(i+1)))
}

func (y *youths) appliedIn(i int) float64 {
	if i < youthIntervals {
		return y.applied[i]
	}
	return 0
}

// spans yields the parts of a gap that are in each interval, and the part that is in none as the last.
func (y *Youth) spans(from, to float64) func(yield func(i int, span float64) bool) {
	return func(yield func(int, float64) bool) {
		for i := y.interval(from); from < to; i++ {
			until := to
			if i < youthIntervals {
				until = min(to, math.Ldexp(1, y.exponent+i))
			}
			if until > from && !yield(i, until-from) {
				return
			}
			from = until
		}
	}
}

// Learn takes in the poll of one of n pages, between two ages of which the first one is young, that was expected to
// find a change with some probability. What is applied moves by a part of the distance to what has been learnt, the
// whole of it with 1.
func (y *Youth) Learn(chance, from, to float64, wasTouched, changed bool, n int, part float64) {
	if to > from {
		y.kinds[kindOfPage(wasTouched)].learn(y, from, to, learnable(chance), changed)
	}
	if y.left.over(n) {
		for k := range y.kinds {
			y.kinds[k].apply(part)
		}
	}
}

func (y *youths) learn(of *Youth, from, to, v float64, changed bool) {
	// The shares in what was expected, of those that are young.
	var share [youthIntervals]float64
	sum := 0.0
	for i, span := range of.spans(from, to) {
		expected := span * y.timesIn(i)
		sum += expected
		if i < youthIntervals {
			share[i] = expected
		}
	}
	if !(sum > 0) { // tiny numbers
		return
	}
	for i := range share {
		share[i] /= sum
	}
	slope, information := evidence(v, changed)
	var px [youthIntervals]float64
	xpx := 0.0
	for i := range px {
		for j, part := range share {
			px[i] += float64(y.covariance[i][j] * part)
		}
		xpx += float64(px[i] * share[i])
	}
	gain := 1 / (1 + float64(information*max(0, xpx)))
	const keep = 1 - 1.0/youthMemory
	for i := range px {
		y.theta[i] = keep * max(-mostYouth, min(mostYouth, y.theta[i]+float64(px[i]*gain*slope)))
		for j := range px {
			c := y.covariance[i][j] - float64(px[i]*px[j]*(information*gain))
			c = float64(keep*keep*c) + float64((1-keep*keep)*youthPrior[i][j])
			y.covariance[i][j] = max(-mostCovariance, min(mostCovariance, c)) // as rounding and saved states might not
		}
		y.covariance[i][i] = max(0, y.covariance[i][i])
	}
}

// apply has what is applied follow what has been learnt.
func (y *youths) apply(part float64) {
	for i, theta := range y.theta {
		unsure := float64(doubt * math.Sqrt(y.covariance[i][i]))
		y.applied[i] += float64(part * (max(0, theta-unsure) + min(0, theta+unsure) - y.applied[i]))
		y.times[i] = fast.Exp(y.applied[i])
	}
}

// mostExponent bounds the place of intervals in saved states.
const mostExponent = 1020

func (y *Youth) encode(e *codec.Encoder) {
	if e.Bool(y.known); !y.known {
		return
	}
	e.Int(y.exponent)
	for k := range y.kinds {
		e.Float64s(y.kinds[k].theta[:])
		for i := range y.kinds[k].covariance {
			e.Float64s(y.kinds[k].covariance[i][:])
		}
		e.Float64s(y.kinds[k].applied[:])
	}
	e.Uint32(uint32(y.left))
}

func (y *Youth) decode(d *codec.Decoder) {
	if y.known = d.Bool(); !y.known {
		return
	}
	y.exponent = d.IntIn(-mostExponent, mostExponent)
	for k := range y.kinds {
		copy(y.kinds[k].theta[:], d.Float64sIn(youthIntervals, -mostYouth, mostYouth))
		for i := range y.kinds[k].covariance {
			copy(y.kinds[k].covariance[i][:], d.Float64sIn(youthIntervals, -mostCovariance, mostCovariance))
			d.Require(y.kinds[k].covariance[i][i] >= 0, "variance of a youth")
		}
		copy(y.kinds[k].applied[:], d.Float64sIn(youthIntervals, -mostYouth, mostYouth))
		for i, s := range y.kinds[k].applied {
			y.kinds[k].times[i] = fast.Exp(s)
		}
	}
	y.left = countdown(d.Uint32())
}
