package main

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/webenv"
)

//go:embed data/terms-changes.csv.gz
var termsChanges []byte

// An environment is a web whose truth is known.
type environment interface {
	webenv.Env
	Rate(page int, now float64) float64
}

// A world is a web to crawl and a budget to do it with. Time is in slots of a
// simulation that has slots, and otherwise in seconds.
type world struct {
	name     string
	pages    int
	start    float64
	duration float64 // of the run; 0 until budgeted where a simulation has no end
	polls    int     // number of polls
	rate     float64 // budget: polls per unit of time
	slots    bool
	history  *webenv.History // nil if simulated
	open     func(src rand.Source) (environment, error)

	moves     float64 // time after which rates change, 0 if they do not
	swapEvery int     // the same in polls, where they decide

	// Of what was drawn from a log, nil otherwise:
	lives []life    // when each page counts
	rates []float64 // true rates
}

// latestTime is when a history ends at the latest, in Unix seconds. Milliseconds come out later.
const latestTime = (latestYear - 1970) * 365.2425 * day

// replayed returns the world of a record: one that changes again as it did. It
// starts at the first change of all pages and ends at the last.
func replayed(h *webenv.History, name string) (*world, error) {
	first, last, ok := h.Span()
	if !ok || first == last {
		return nil, errors.New("a history needs changes at two times at least, in lines of name,unix,unix,…")
	}
	if last > latestTime {
		return nil, fmt.Errorf("a change at %.15g, after the year %d: are the times in milliseconds? They must be Unix seconds", last, latestYear)
	}
	w := &world{name: name, pages: h.Len(), start: first, duration: last - first, history: h}
	return w.from(first), nil
}

// from returns the world of a record from another time on.
func (w *world) from(start float64) *world {
	later := *w
	later.start, later.duration = start, w.start+w.duration-start
	later.open = func(rand.Source) (environment, error) { return webenv.NewReplay(w.history, start) }
	return &later
}

// builtIn reads the history that comes with the program.
func builtIn() (*world, error) {
	unzipped, err := gzip.NewReader(bytes.NewReader(termsChanges))
	if err != nil {
		return nil, err
	}
	h, err := webenv.ReadHistory(unzipped, "terms-changes.csv")
	if err != nil {
		return nil, err
	}
	return replayed(h, "terms-changes")
}

// traceFile reads another history, which may be gzipped.
func traceFile(path string) (*world, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var text io.Reader = bytes.NewReader(content)
	zipped := bytes.HasPrefix(content, []byte{0x1f, 0x8b})
	if zipped {
		if text, err = gzip.NewReader(text); err != nil {
			return nil, fmt.Errorf("%s: %w", path, cutOff(err))
		}
	}
	h, err := webenv.ReadHistory(text, path)
	if errors.Is(err, io.ErrUnexpectedEOF) { // of the file, whatever line it came at
		return nil, fmt.Errorf("%s: %w", path, cutOff(err))
	}
	if err != nil {
		if l, _ := readLog(bytes.NewReader(content), path); l != nil {
			err = fmt.Errorf("%w; it is a log of polls, which -log reads", err)
		} else if !zipped {
			err = fmt.Errorf("%w%s", err, noText(string(content[:min(len(content), 100)])))
		}
		return nil, err
	}
	w, err := replayed(h, strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".gz"), ".csv"))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return w, nil
}

const hour, day = 3600.0, 86400.0

// slotsPerDay is how long a slot is taken to be where the bounds of production
// rules, or a budget by the day, need it: so long that one poll a slot is 0.05
// polls a day for each of the papers' 500 pages.
const slotsPerDay = 25

// job tells a policy what it may know.
func (w *world) job(env environment, objective knapsack.Objective, src rand.Source) job {
	j := job{
		pages: w.pages, rate: w.rate, second: 1, once: w.slots, objective: objective,
		moves: w.moves, start: w.start, src: src,
		truth: func(now float64) []float64 {
			rates := make([]float64, w.pages)
			if w.rates != nil {
				copy(rates, w.rates)
				return rates
			}
			for page := range rates {
				rates[page] = env.Rate(page, now)
			}
			return rates
		},
	}
	if w.slots {
		j.second = slotsPerDay / day
	}
	if w.history != nil {
		j.names = w.history.Names
	}
	return j
}

// life returns when a page counts.
func (w *world) life(page int) life {
	if w.lives == nil {
		return life{w.start, w.start + w.duration}
	}
	return w.lives[page]
}

// pageTime returns the time in which pages count, summed over the pages by their weights, nil
// if they are equal.
func (w *world) pageTime(weights []float64) (sum float64) {
	for page := range w.pages {
		l := w.life(page)
		if weights != nil {
			sum += weights[page] * (l.to - l.from)
		} else {
			sum += l.to - l.from
		}
	}
	return sum
}

// longUnit is the unit of ages and of the time axis.
func (w *world) longUnit() float64 {
	if w.slots {
		return 1
	}
	return day
}

// units returns the units of the budget and of ages.
func (w *world) units() (budget, age string) {
	if w.slots {
		return "polls per slot", "slot"
	}
	return "polls per hour", "day"
}

// longest is how many days or slots a simulation may take, so that seconds can be told apart to its end.
const longest = 1e9

// budgeted sets the budget, 0 for the default, and the number of polls, 0 for
// all or, where a simulation has no end, 100,000.
func (w *world) budgeted(budget float64, polls int) error {
	if !(budget >= 0) || math.IsInf(budget, 0) {
		unit, _ := w.units()
		return fmt.Errorf("-budget %v: want a number of %s above 0", budget, unit)
	}
	if w.rate = budget; !w.slots {
		w.rate = budget / hour
	}
	if budget == 0 && w.slots {
		w.rate = 1
	} else if budget == 0 {
		w.rate = 2 / hour
	}
	if polls == 0 && w.duration == 0 {
		polls = 100_000
	}
	if d := float64(polls) / w.rate; polls > 0 && (w.duration == 0 || d < w.duration) {
		w.duration = d // the last poll ends the run
	}
	unit, time := w.units()
	switch n := w.duration * w.rate; {
	case n > 1e12:
		return fmt.Errorf("-budget: %.6g %s are too many, %.0g in %.4g %ss", w.budget(), unit, n, w.duration/w.longUnit(), time)
	case w.history == nil && w.duration > longest*w.longUnit():
		return fmt.Errorf("-budget: %.6g %s are too few, %.4g in %.4g %ss", w.budget(), unit, n, w.duration/w.longUnit(), time)
	case n < 1:
		return fmt.Errorf("-budget: %.6g %s are not a single poll in %.4g %ss", w.budget(), unit, w.duration/w.longUnit(), time)
	default:
		w.polls = int(n + 1e-6)
	}
	if w.swapEvery > 0 {
		w.moves = float64(w.swapEvery) / w.rate
	}
	return nil
}

// budget returns the budget in its unit.
func (w *world) budget() float64 {
	if w.slots {
		return w.rate
	}
	return w.rate * hour
}
