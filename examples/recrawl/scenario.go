package main

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/webenv"
)

// A scenario is what a crawler may know besides the answers to its polls. Policies that
// cannot make use of it do without.
type scenario struct {
	name, about string
	weighted    bool
	sources     []source
	costly      bool
	times       bool // see informed
	mates       bool
}

var scenarios = []scenario{
	{name: "plain", about: "pages count alike, and polls are all there is"},
	{name: "weights", weighted: true,
		about: "pages count 1, 3 or 10, and so do their changes"},
	{name: "signals", sources: []source{feed},
		about: "half of the changes are announced, an hour late on average; half of the announcements are wrong"},
	{name: "sitemap", sources: []source{feed, sitemap},
		about: "the same, and a second source announces 3 changes of 10, two days late; 9 of its announcements in 10 are wrong"},
	{name: "costs", costly: true,
		about: "polls of a page cost 1, 3 or 10, and the budget is as many polls of mean cost"},
	{name: "times", times: true,
		about: "a poll tells the times of all changes since the one before, as a feed does"},
	{name: "mates", mates: true,
		about: "a poll tells which pages of the group changed within an hour of what it found, which no real source does"},
}

// scenariosNamed returns the scenarios with the names given, separated by commas. Without names it
// leaves out those in which a poll tells more than whether its page changed.
func scenariosNamed(names string) ([]scenario, error) {
	if names == "" {
		return slices.DeleteFunc(slices.Clone(scenarios), func(s scenario) bool { return s.times || s.mates }), nil
	}
	return chosenOf("scenarios", scenarios, func(s scenario) string { return s.name }, names)
}

// pageWeights are the weights and costs of pages, each equally often.
var pageWeights = []float64{1, 3, 10}

// weights draws the weight of each page, nil if they are equal.
func (s scenario) weights(w *world, src rand.Source) []float64 {
	if !s.weighted {
		return nil
	}
	return drawn(w.pages, src)
}

// costs draws what a poll of each page costs, 1 in the mean, nil if they are equal.
func (s scenario) costs(w *world, src rand.Source) []float64 {
	if !s.costly {
		return nil
	}
	costs := drawn(w.pages, src)
	mean := mean(costs)
	for page := range costs {
		costs[page] /= mean
	}
	return costs
}

func drawn(pages int, src rand.Source) []float64 {
	rng := rand.New(src)
	values := make([]float64, pages)
	for page := range values {
		values[page] = pageWeights[rng.IntN(len(pageWeights))]
	}
	return values
}

// A source announces changes.
type source struct {
	recall    float64 // share of the changes that are announced
	precision float64 // share of the announcements that are of changes
	delay     float64 // mean time from a change to its announcement, in hours
}

// feed and sitemap are a source that is worth something, and one that is worth little.
var feed, sitemap = source{0.5, 0.5, 1}, source{0.3, 0.1, 48}

// A signal is an announcement that a page has changed.
type signal struct {
	page, source int
	at           float64
}

// announcements draws the signals of a run in the order of their times.
func (s scenario) announcements(w *world, src rand.Source) (signals []signal) {
	rng := rand.New(src)
	for number, source := range s.sources {
		signals = append(signals, source.announcements(w, number, rng)...)
	}
	slices.SortFunc(signals, func(a, b signal) int { return cmp.Compare(a.at, b.at) })
	return signals
}

// announcements draws the signals of one source. Without hours they are not late.
func (s source) announcements(w *world, number int, rng *rand.Rand) (signals []signal) {
	end := w.start + w.duration
	late := s.delay * hour
	if w.slots {
		late = 0
	}
	for page, times := range w.history.Times {
		for _, t := range times {
			if at := t + late*rng.ExpFloat64(); t > w.start && rng.Float64() < s.recall && at < end {
				signals = append(signals, signal{page, number, at})
			}
		}
	}
	for range int(float64(len(signals)) * (1 - s.precision) / s.precision) {
		signals = append(signals, signal{rng.IntN(w.pages), number, w.start + w.duration*rng.Float64()})
	}
	return signals
}

// signalled is a policy that hears of signals before it is asked.
type signalled struct {
	webenv.Scheduler
	hears interface {
		Signal(page, source int, at float64) error
	}
	signals []signal // those that are still to come
}

// heard returns the policy with the signals, or without if it cannot use them.
func heard(policy webenv.Scheduler, signals []signal) webenv.Scheduler {
	hears, ok := policy.(interface {
		Signal(page, source int, at float64) error
	})
	if !ok || len(signals) == 0 {
		return policy
	}
	return &signalled{policy, hears, signals}
}

func (s *signalled) Next(now float64) (page int, err error) {
	for len(s.signals) > 0 && s.signals[0].at <= now {
		first := s.signals[0]
		if err := s.hears.Signal(first.page, first.source, first.at); err != nil {
			return 0, err
		}
		s.signals = s.signals[1:]
	}
	return s.Scheduler.Next(now)
}
