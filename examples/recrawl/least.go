package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/recrawl/recrawl/examples/internal/report"
)

// A doubt says of which pages of a log it does not say how often they change. A second reading
// takes them to change once between two polls that show a change: that is what the log proves.
type doubt struct {
	often    int    // pages that changed at nearly every poll
	calendar int    // other pages that change at even intervals or at some hours or days of the week
	regular  bool   // changes come more regularly than at random times: then all pages are in doubt
	bursty   bool   // changes come in bursts, or rates change
	pages    []bool // nil if there are none
}

// nearly is the share of its polls at which a page must have changed. Below it there are polls
// enough that found nothing, which tell its rate. expected is the share that the rates drawn for the
// page must have in mind: it is less, so that chance does not decide of a page of many polls, but
// those of a page whose few polls found changes by luck are those of other pages.
const nearly, expected = 0.9, 0.8

// doubt returns the doubt of a log.
func (l *crawlLog) doubt(drawn [][]float64) (d doubt) {
	d.regular, d.bursty = l.regular(), l.bursty()
	pages := make([]bool, len(l.polls))
	for page, polls := range l.polls {
		found, span := polled(polls)
		share := 0.0
		for _, rates := range drawn {
			share -= math.Expm1(-rates[page]*span/float64(len(polls)-1)) / float64(len(drawn))
		}
		often := float64(found) >= nearly*float64(len(polls)-1) && share >= expected
		if often {
			d.often++
		}
		calendar := !often && !d.regular && mostlyFound(polls) && (even(polls) || byClock(polls))
		if calendar {
			d.calendar++
		}
		pages[page] = often || calendar || d.regular
	}
	if d.regular || d.often+d.calendar > 0 {
		d.pages = pages
	}
	return d
}

// readings returns the pages that each reading of the log takes to change as seldom as it proves.
func (d doubt) readings() [][]bool {
	if d.pages == nil {
		return [][]bool{nil}
	}
	return [][]bool{nil, d.pages}
}

// text says what is in doubt, in a line.
func (d doubt) text() string {
	if d.regular {
		return "The pages change more regularly than at random times, for instance once a day at a fixed hour, so that there may be no more changes than your crawler found. " +
			"There are two results: one if pages change at random times, and one if they change once between two polls that show it, which is what the log proves.\n"
	}
	var which []string
	if d.often > 0 {
		which = append(which, fmt.Sprintf("%d of these pages had changed at 9 of 10 polls or more.", d.often))
	}
	if d.calendar > 0 {
		which = append(which, fmt.Sprintf("%d of these pages had changed at most polls, and at even intervals or at some hours or days of the week.", d.calendar))
	}
	text := ""
	if len(which) > 0 {
		text = strings.Join(which, " ") + " The log does not show how often such a page really changes. " +
			"There are two results: one if it changes as often as the other pages suggest, and one if it changes once between two polls that show it, which is what the log proves.\n"
	}
	if d.bursty {
		text += "Changes come in bursts, or rates change, and what follows takes no account of that. By detections more would be won, perhaps much more. By freshness it may be less.\n"
	}
	return text
}

// A page changes by a calendar if most of its polls found a change, and those that did not come
// at even distances: the variance of the numbers of finds between them is less than evenly of what it
// is at random times. For less than fewestStretches such numbers that may be chance. All pages that
// change once in a fixed time are found that way which change at 5 of 8 to 9 of 10 polls, and of
// those that change at random times 1 in 100, or 1 in 20 where there are 5 to 7 such numbers
// (TestEvenPages). Where fewer polls find a change, more polls find but little more. A page of which
// most polls found a change also changes by a calendar if what they find depends on the hour or the day
// of the week, in UTC, by a χ² that 1 in 10,000 pages exceeds by chance (TestPagesByTheClock).
const mostly, fewestStretches, evenly, clockChi2 = 0.6, 5, 0.2, 31

// mostlyFound reports whether most polls of a page found a change.
func mostlyFound(polls []logged) bool {
	found, _ := polled(polls)
	return float64(found) >= mostly*float64(len(polls)-1)
}

// even reports whether the polls of a page that found nothing came at even distances.
func even(polls []logged) bool {
	var stretches []float64 // finds between two polls that found nothing
	stretch := -1.0
	for _, p := range polls[1:] {
		switch {
		case p.changed:
			if stretch >= 0 {
				stretch++
			}
		default:
			if stretch >= 0 {
				stretches = append(stretches, stretch)
			}
			stretch = 0
		}
	}
	if len(stretches) < fewestStretches {
		return false
	}
	mean, sd := report.MeanSD(stretches)
	return sd*sd < evenly*mean*(mean+1) // the variance of a geometric law
}

// byClock reports whether what polls of a page find depends on the hour or on the day of the week.
func byClock(polls []logged) bool {
	var hours [8]sum // of 3 hours each
	var days [7]sum
	rate := expectedRate(polls)
	if rate == 0 {
		return false
	}
	for k, p := range polls[1:] {
		mean := -math.Expm1(-rate * (p.time - polls[k].time))
		over := -mean
		if p.changed {
			over++
		}
		at := math.Mod(p.time/day, 7)
		if at < 0 {
			at += 7
		}
		hours[min(7, int(8*math.Mod(at, 1)))].add(over, mean*(1-mean))
		days[min(6, int(at))].add(over, mean*(1-mean))
	}
	return chi2(hours[:]) > clockChi2 || chi2(days[:]) > clockChi2
}

// A sum of what polls found over what was expected, and its variance at a constant rate.
type sum struct{ over, variance float64 }

func (s *sum) add(over, variance float64) {
	s.over += over
	s.variance += variance
}

// chi2 returns how far sums are from 0.
func chi2(sums []sum) (chi2 float64) {
	for _, s := range sums {
		chi2 += s.over * s.over / max(1, s.variance)
	}
	return chi2
}

// proven returns the rates that a log proves at least of the pages in doubt, and the drawn ones of
// the others.
func (l *crawlLog) proven(drawn []float64, least []bool) []float64 {
	rates := make([]float64, len(drawn))
	for page, polls := range l.polls {
		rates[page] = drawn[page]
		if least != nil && least[page] {
			found, span := polled(polls)
			rates[page] = float64(found) / span
		}
	}
	return rates
}

// polled returns how many polls after the first found a change, and in what time.
func polled(polls []logged) (found int, span float64) {
	for _, p := range polls[1:] {
		if p.changed {
			found++
		}
	}
	return found, polls[len(polls)-1].time - polls[0].time
}

// Changes are regular if neighbouring polls of a page are correlated by less than this, and less
// than by chance, by so many standard deviations. Pages that change once a day reach −0.25 where 8 of
// 10 polls find that, and −1 where every other one does; other pages come on top. Changes come in
// bursts, or rates change, if neighbours are correlated by more than burstCorrelation, and more than
// by as many standard deviations. Bursts, news, and pages that wake or fall asleep reach +0.09 to
// +0.6, and pages that change on weekdays, of which there is one in ten, +0.07. Logs of random times
// stay within 3.5 deviations, and within ±0.04 (TestRandomTimesAreNotRegular, TestBurstyLogs).
const regularCorrelation, burstCorrelation, correlationDeviations = -0.05, 0.08, 4

// regular reports whether pages change more regularly than at random times, for instance once a
// day.
func (l *crawlLog) regular() bool {
	correlation, deviations := l.neighbours()
	return correlation < regularCorrelation && deviations < -correlationDeviations
}

// bursty reports whether changes come in bursts, or rates change in the course of the log.
func (l *crawlLog) bursty() bool {
	correlation, deviations := l.neighbours()
	return correlation > burstCorrelation && deviations > correlationDeviations
}

// neighbours returns how what neighbouring polls of a page find is correlated, and how many standard
// deviations that is from 0. At a constant rate what a poll finds over what is expected does not
// depend on the poll before, even if the crawler sets its gaps by what it found.
func (l *crawlLog) neighbours() (correlation, deviations float64) {
	sum, most, variance := 0.0, 0.0, 0.0
	for _, polls := range l.polls {
		rate := expectedRate(polls)
		if rate == 0 {
			continue
		}
		before, beforeVariance, squares := 0.0, 0.0, 0.0
		for k, p := range polls[1:] {
			mean := -math.Expm1(-rate * (p.time - polls[k].time))
			over, v := -mean, mean*(1-mean)
			if p.changed {
				over++
			}
			sum += before * over
			most += math.Sqrt(beforeVariance * v)
			variance += beforeVariance * v
			squares += over * over
			before, beforeVariance = over, v
		}
		// As they sum up to 0, neighbours are correlated by so much in any order.
		sum += squares / float64(len(polls)-1)
	}
	if variance == 0 {
		return 0, 0
	}
	return sum / most, sum / math.Sqrt(variance)
}

// expectedRate returns the rate at which as many polls are expected to find a change as did. It is
// 0 if none or all did, which tells nothing of their order.
func expectedRate(polls []logged) float64 {
	found, span := polled(polls)
	if found == 0 || found == len(polls)-1 {
		return 0
	}
	low, high := 0.0, 1/span
	less := func(rate float64) bool {
		mean := 0.0
		for k, p := range polls[1:] {
			mean -= math.Expm1(-rate * (p.time - polls[k].time))
		}
		return mean < float64(found)
	}
	for less(high) {
		low, high = high, 2*high
	}
	for range 30 {
		if middle := (low + high) / 2; less(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
