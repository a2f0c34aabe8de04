package main

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/webenv"
)

// span returns the times of the first and the last poll.
func (l *crawlLog) span() (first, last float64) {
	first, last = math.Inf(1), math.Inf(-1)
	for _, polls := range l.polls {
		first, last = min(first, polls[0].time), max(last, polls[len(polls)-1].time)
	}
	return first, last
}

// repeats returns the number of polls but for the first of each page.
func (l *crawlLog) repeats() (n int) {
	for _, polls := range l.polls {
		n += len(polls) - 1
	}
	return n
}

// found returns how many of these polls found a change.
func (l *crawlLog) found() (n int) {
	for _, polls := range l.polls {
		for _, p := range polls[1:] {
			if p.changed {
				n++
			}
		}
	}
	return n
}

// repeated returns the times of these polls in their order.
func (l *crawlLog) repeated() (times []float64) {
	for _, polls := range l.polls {
		for _, p := range polls[1:] {
			times = append(times, p.time)
		}
	}
	slices.Sort(times)
	return times
}

// A life is the time in which a page counts.
type life struct{ from, to float64 }

// lives returns the lives of all pages. A page begins with its first copy, and ends one of
// its mean gaps after its last poll, or with the log: then the crawler has dropped it.
func (l *crawlLog) lives() []life {
	_, last := l.span()
	lives := make([]life, len(l.polls))
	for page, polls := range l.polls {
		from, to := polls[0].time, polls[len(polls)-1].time
		gap := (to - from) / float64(len(polls)-1)
		lives[page] = life{from, min(to+gap, last)}
	}
	return lives
}

// ends returns the pages of a world in the order of their ends.
func (w *world) ends() []int {
	pages := make([]int, w.pages)
	for page := range pages {
		pages[page] = page
	}
	slices.SortStableFunc(pages, func(p, q int) int { return cmp.Compare(w.lives[p].to, w.lives[q].to) })
	return pages
}

// world returns a web on which the log could have been written. The log says only between
// which polls a page changed, not when, and not how often. A page is taken to change at a
// constant rate, given here, under the condition of what its polls found. Those of least, which may
// be nil, changed once where a change was found.
func (l *crawlLog) world(name string, rates []float64, least []bool, src rand.Source) *world {
	rng := rand.New(src)
	first, last := l.span()
	h := &webenv.History{Names: l.urls, Times: make([][]float64, len(l.polls))}
	lives := l.lives()
	for page, polls := range l.polls {
		var times []float64
		spread := func(changes int, from, to float64) {
			for range changes {
				times = append(times, to-(to-from)*rng.Float64())
			}
		}
		for k, p := range polls[1:] {
			switch {
			case p.changed && least != nil && least[page]:
				spread(1, polls[k].time, p.time)
			case p.changed:
				spread(atLeastOne(rates[page]*(p.time-polls[k].time), rng), polls[k].time, p.time)
			}
		}
		end := polls[len(polls)-1].time
		spread(poisson(rates[page]*(lives[page].to-end), rng), end, lives[page].to)
		slices.Sort(times)
		h.Times[page] = slices.Compact(times)
	}
	w := &world{
		name: name, pages: h.Len(), start: first, duration: last - first, history: h, polls: l.repeats(),
		lives: lives, rates: rates,
	}
	w.rate = float64(w.polls) / w.duration
	return w.from(first)
}

// mostBetween bounds the mean number of changes between two polls. No policy could make
// much of more.
const mostBetween = 50

// poisson draws from the Poisson law.
func poisson(mean float64, rng *rand.Rand) int {
	mean = min(mean, mostBetween)
	return inverted(mean, 0, math.Exp(-mean), rng)
}

// atLeastOne draws from the Poisson law under the condition that it is not 0.
func atLeastOne(mean float64, rng *rand.Rand) int {
	if mean = min(mean, mostBetween); mean <= 0 {
		return 1
	}
	return inverted(mean, 1, mean/math.Expm1(mean), rng)
}

// inverted inverts a distribution function from k on, where its first step is p and the
// next are those of a Poisson law.
func inverted(mean float64, k int, p float64, rng *rand.Rand) int {
	for u := rng.Float64() - p; u >= 0 && k < 10*mostBetween; u -= p {
		k++
		p *= mean / float64(k)
	}
	return k
}
