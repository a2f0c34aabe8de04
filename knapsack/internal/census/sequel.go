package census

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/knapsack/internal/fast"
)

// A Sequel learns what a find leads to: a story that is written on, a package that is taken up again. That
// a page was found changed is one change; that it is known to be awake is what the polls that follow earn.
//
// Finds that were not likely are followed for longestTrail cycles. What a poll on such a Trail earns is what
// it finds less its price, and it earns that in its gap, evenly. What the page was expected to earn without
// the find is taken off. With profit(a) of this per find and cycle, at age a, a page that wakes at some
// rate, and is polled each τ cycles, misses profit(0) to profit(d) where the find comes after a delay d, and
// the slope of what it earns is
//
//	rate·∫ a·profit(a) da, a from 0 to τ,
//
// which is what a poll is worth beside the change that it finds; rate·τ is the chance of that. All this is
// learnt by kinds: by the rate at which a page was expected to change before the find, and by whether it was
// untouched. A find of a quiet page may mean a lot, and that of a page that changes now and then nothing.
//
// The zero value has learnt nothing.
type Sequel struct {
	kinds [2 * kinds]leads // those of untouched pages come last
	led   bool             // some find leads to anything
	left  uint32           // polls of the block to come
}

// leads is what finds of a kind lead to.
type leads struct {
	finds  float64
	earned [intervals]float64 // by the age of the find
	// moment is ∫ a·profit(a) da up to the end of each interval, of finds with some added that led to nothing.
	moment [intervals]float64
}

// A Trail is how long ago the find is that a page is followed for, and of which kind it was: an interval and
// 1 in the lower four bits, and the kind in the upper ones. The zero one is that of a page that is not followed.
type Trail uint8

const (
	// intervals is how many there are of the age of a find: the first is up to youngest, and each later one
	// ends at √2 times the age at which it begins.
	intervals    = 15
	youngest     = 1.0 / 32
	longestTrail = 4
	// kinds is how many there are of touched pages, and of untouched ones: of rates up to slowestKind
	// changes a cycle, and of 4 times as many each, which is kindStep nats.
	kinds       = 6
	slowestKind = 1.0 / 128
	kindStep    = 2 * math.Ln2
	// likely is the probability from which on a find is not followed, as the page is polled soon anyway.
	likely = 0.5
	// unproven is how many finds that led to nothing are added to those of a kind. With 40 four recorded
	// histories have as many changes detected, to .002, and nothing is gained in webs of 300 pages.
	unproven = 12
	// sequelMemory is in how many polls of each page what has been learnt is forgotten.
	sequelMemory = 6
	// leastGap keeps a gap from being nothing, as rounding may have it.
	leastGap = 1e-100
	// mostWorth bounds what a find is taken to lead to, in changes, and mostRate what a page may be
	// expected to earn in a cycle without it.
	mostWorth, mostRate = 10, 100
)

// ages has the ages at which intervals begin, and the end of the last one.
var ages = func() (a [intervals + 1]float64) {
	for i := range intervals {
		a[i+1] = youngest * math.Exp2(float64(i)/2)
	}
	return a
}()

// Learn takes in a poll of one of n pages, that was on a trail and ended a gap of so many cycles. A page that
// is not on one was to be found changed with some probability, which is asked for where it matters, and had
// been touched or not. The price is what as much as the poll costs finds elsewhere, at most 1. It returns the
// trail that the page is on now. dither is any number that differs from poll to poll.
func (s *Sequel) Learn(t Trail, gap float64, changed bool, chance func() float64, wasTouched bool, price float64, n int, dither uint64) Trail {
	gap = max(leastGap, gap)
	switch {
	case t != 0:
		earned := -price
		if changed {
			earned++
		}
		t = s.follow(t, gap, earned, dither)
	case changed:
		t = s.find(chance(), gap, wasTouched, price)
	}
	if s.left = min(s.left, blockOf(n)); s.left > 0 {
		s.left--
	}
	if s.left == 0 {
		s.left = blockOf(n)
		s.estimate(1 - float64(s.left)/(sequelMemory*float64(max(n, 4))))
	}
	return t
}

// blockOf is how many polls of n pages there are until what has been learnt is applied.
func blockOf(n int) uint32 { return uint32(max(period, n/blocks)) }

// find begins a trail, unless the find was likely.
func (s *Sequel) find(chance, gap float64, wasTouched bool, price float64) Trail {
	if !(chance < likely) {
		return 0
	}
	kind, part := kindOf(chance, gap, wasTouched)
	if part > 0.5 {
		kind++
	}
	l := &s.kinds[kind]
	l.finds++
	otherwise := max(0, min(mostRate, (chance-price)/gap))
	for i := range l.earned {
		l.earned[i] -= float64(otherwise * (ages[i+1] - ages[i]))
	}
	return Trail(kind<<4 | 1)
}

// follow goes on on a trail.
func (s *Sequel) follow(t Trail, gap, earned float64, dither uint64) Trail {
	l, i := &s.kinds[t>>4], int(t&15)-1
	from := ages[i]
	to := from + gap
	for ; i < intervals; i++ {
		l.earned[i] += earned * (min(to, ages[i+1]) - max(from, ages[i])) / gap
		if to < ages[i+1] {
			break
		}
	}
	if i < intervals && (to-ages[i])/(ages[i+1]-ages[i]) > float64(dither*fast.Golden>>11)*0x1p-53 {
		i++ // an age is kept by the beginning of its interval, or of the next one, so that it is right on average
	}
	if i == intervals {
		return 0
	}
	return t&^15 | Trail(i+1)
}

// estimate computes the moments, after it has forgotten a part of what was learnt.
func (s *Sequel) estimate(keep float64) {
	s.led = false
	for k := range s.kinds {
		l, moment := &s.kinds[k], 0.0
		l.finds *= keep
		for i := range l.earned {
			l.earned[i] *= keep
			moment += float64(l.earned[i] / (l.finds + unproven) * ((ages[i] + ages[i+1]) / 2))
			l.moment[i] = moment
			s.led = s.led || moment > 0
		}
	}
}

// kindOf returns the kind of a page that changed with some probability in a gap, by which part of the way to
// the next one it is.
func kindOf(chance, gap float64, wasTouched bool) (kind int, part float64) {
	at := fast.Log(expected(chance)/(gap*slowestKind)) / kindStep
	at = max(0, min(kinds-1, at))
	kind = min(kinds-2, int(at))
	part = at - float64(kind)
	if !wasTouched {
		kind += kinds
	}
	return kind, part
}

// Led reports whether any find leads to anything.
func (s *Sequel) Led() bool { return s.led }

// Worth returns what a poll is worth beside the change that it finds, for a page that has changed with some
// probability in a gap of so many cycles. A poll of one that has surely changed tells nothing.
func (s *Sequel) Worth(chance, gap float64, wasTouched bool) float64 {
	gap = max(leastGap, gap)
	i, part := intervals-1, 1.0 // of the last interval
	if gap < longestTrail {
		i = 0
		if gap > youngest {
			i = min(intervals-1, 1+int(2/math.Ln2*fast.Log(gap/youngest)))
		}
		part = (gap - ages[i]) / (ages[i+1] - ages[i])
	}
	kind, next := kindOf(chance, gap, wasTouched)
	each := float64((1-next)*s.kinds[kind].upTo(i, part)) + float64(next*s.kinds[kind+1].upTo(i, part))
	return chance * (1 - chance) * min(mostWorth, each/gap)
}

// upTo returns the moment up to a part of an interval, 0 if what was earned is less than nothing.
func (l *leads) upTo(i int, part float64) float64 {
	before := 0.0
	if i > 0 {
		before = l.moment[i-1]
	}
	return max(0, before+float64(part*(l.moment[i]-before)))
}

// mostSequel bounds numbers in saved states.
const mostSequel = 1e15

func (s *Sequel) encode(e *codec.Encoder) {
	for k := range s.kinds {
		l := &s.kinds[k]
		e.Float64(l.finds)
		e.Float64s(l.earned[:])
		e.Float64s(l.moment[:])
	}
	e.Uint32(s.left)
}

func (s *Sequel) decode(d *codec.Decoder) {
	for k := range s.kinds {
		l := &s.kinds[k]
		l.finds = d.Float64In(0, mostSequel)
		copy(l.earned[:], d.Float64sIn(intervals, -mostSequel, mostSequel))
		copy(l.moment[:], d.Float64sIn(intervals, -mostSequel, mostSequel))
		for _, moment := range l.moment {
			s.led = s.led || moment > 0
		}
	}
	s.left = d.Uint32()
}

// DecodeTrail reads the byte that a trail is.
func DecodeTrail(d *codec.Decoder) Trail {
	t := Trail(d.Byte())
	d.Require(t == 0 || t&15 != 0 && t>>4 < 2*kinds, "a trail of %#x", byte(t))
	return t
}
