package census

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/fast"
)

// A Youth learns how much more or less than expected pages change by their age, the time since they were added
// while the crawl ran: articles and job offers are written and corrected in their first hours, and rest then,
// of which the rates of the pages that were there before tell nothing. It is learnt of untouched pages and of others
// apart, as an article that was never changed and one that was are not as likely to be changed again.
//
// Ages are in intervals, each twice as long as the one before. A page changes e^θ times as much in an interval as is
// believed of it, in which θ is learnt by an extended Kalman filter on the likelihood of changed or not, as in
// a correction; of a poll whose gap is over more than one interval each learns by its share in what was
// expected. What is applied follows θ taken half a standard deviation nearer to 0, with the blocks of polls.
//
// The zero value has no unit of time: see Begin.
type Youth struct {
	exponent int // the first interval ends at the age 2^exponent
	known    bool
	kinds    [2]youths
	left     uint32 // polls of the block to come
}

// youths is what is known of the pages of a kind, by interval.
type youths struct {
	theta, variance [youthIntervals]float64
	// applied is what is applied of θ, and times e^applied.
	applied, times [youthIntervals]float64
}

const (
	// youthIntervals is how many there are. The first ends at 2^−youngestAge to 2^(1−youngestAge) of a cycle, and
	// the last one at 64 to 128 cycles: pages that are older are not young.
	youthIntervals, youngestAge = 18, 11
	// Each θ has a variance of youthVariance before any poll, and is forgotten in so many polls of its interval. With a
	// variance of 1 in place of 4, eight webs of pages that come at three budgets have 1.129 times as many
	// changes detected as without a Youth, and not 1.145 (TestYoungPages has six of them). mostYouth bounds θ.
	youthVariance, youthMemory, mostYouth = 4, 4096, 4
	// offUnit is how far the intervals may be off, in powers of two, until they follow the cycle.
	offUnit = 0.25
)

var leastTimes = math.Exp(-mostYouth)

// Known reports whether there is a unit of time.
func (y *Youth) Known() bool { return y.known }

// Begin sets the unit of time, unless there is one.
func (y *Youth) Begin(cycle float64) {
	if y.known {
		return
	}
	y.known, y.exponent = true, exponentFor(cycle)
	for k := range y.kinds {
		for i := range youthIntervals {
			y.kinds[k].reset(i)
		}
	}
}

func exponentFor(cycle float64) int { return math.Ilogb(cycle) - youngestAge + 1 }

// reset lets nothing be known of an interval.
func (y *youths) reset(i int) {
	y.theta[i], y.variance[i], y.applied[i], y.times[i] = 0, youthVariance, 0, 1
}

// Follow moves the intervals to where they are for a cycle, once they are clearly off. What is known of ages stays;
// the youngest and the oldest ones that come in begin with what is known of their neighbours, and with nothing.
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
	for i := range youthIntervals {
		switch from := i + by; {
		case from >= youthIntervals:
			y.reset(i)
		default:
			from = max(0, from)
			y.theta[i], y.variance[i], y.applied[i], y.times[i] = old.theta[from], old.variance[from], old.applied[from], old.times[from]
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
func (y *Youth) Times(wasTouched bool, from, to float64) (mean, at float64) {
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
func (y *Youth) Learn(wasTouched bool, from, to, chance float64, changed bool, n int, part float64) {
	if to > from {
		y.kinds[kindOfPage(wasTouched)].learn(y, from, to, learnable(chance), changed)
	}
	if y.left = min(y.left, uint32(n/blocks)); y.left > 0 {
		y.left--
		return
	}
	y.left = uint32(n / blocks)
	for k := range y.kinds {
		y.kinds[k].apply(part)
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
	slope, information := evidence(v, changed)
	spread := 0.0
	for i := range share {
		share[i] /= sum
		spread += float64(y.variance[i] * share[i] * share[i])
	}
	gain := 1 / (1 + float64(information*spread))
	for i, part := range share {
		if !(part > 0) {
			continue
		}
		p, keep := y.variance[i], 1-part/youthMemory
		y.theta[i] = keep * max(-mostYouth, min(mostYouth, y.theta[i]+float64(p*part*gain*slope)))
		p -= float64(p * part * p * part * (information * gain))
		y.variance[i] = max(0, min(youthVariance, float64(p*keep*keep)+float64(youthVariance*(1-float64(keep*keep)))))
	}
}

// apply has what is applied follow what has been learnt.
func (y *youths) apply(part float64) {
	for i, theta := range y.theta {
		unsure := float64(doubt * math.Sqrt(y.variance[i]))
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
		e.Float64s(y.kinds[k].variance[:])
		e.Float64s(y.kinds[k].applied[:])
	}
	e.Uint32(y.left)
}

func (y *Youth) decode(d *codec.Decoder) {
	if y.known = d.Bool(); !y.known {
		return
	}
	y.exponent = d.IntIn(-mostExponent, mostExponent)
	for k := range y.kinds {
		copy(y.kinds[k].theta[:], d.Float64sIn(youthIntervals, -mostYouth, mostYouth))
		copy(y.kinds[k].variance[:], d.Float64sIn(youthIntervals, 0, youthVariance))
		copy(y.kinds[k].applied[:], d.Float64sIn(youthIntervals, -mostYouth, mostYouth))
		for i, s := range y.kinds[k].applied {
			y.kinds[k].times[i] = fast.Exp(s)
		}
	}
	y.left = d.Uint32()
}
