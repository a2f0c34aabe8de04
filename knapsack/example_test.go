package knapsack_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/recrawl/recrawl/knapsack"
)

// Ask, fetch, tell. Here one page of four changes daily, the others hardly ever, and there is one
// poll an hour. Times are in hours; a crawler of the real web may pass Unix time.
func Example() {
	urls := []string{"/news", "/terms", "/about", "/contact"}
	learner, err := knapsack.NewRateFilter(len(urls), knapsack.RateFilterConfig{})
	if err != nil {
		panic(err)
	}
	copies := map[string]int{}
	for _, url := range urls {
		copies[url] = fetch(url, 0) // the first copy, to compare with
	}
	polls := map[string]int{}
	for hour := 1; hour <= 24*365; hour++ {
		page, err := learner.Next(float64(hour)) // ask
		if errors.Is(err, knapsack.ErrNoPage) {
			continue // all pages are in flight
		}
		if err != nil {
			panic(err)
		}
		url := urls[page]
		version := fetch(url, hour)
		changed := version != copies[url]
		copies[url] = version
		if err := learner.Observe(page, float64(hour), changed); err != nil { // tell
			panic(err)
		}
		polls[url]++
	}
	fmt.Println("news gets more than twice the polls of any other page:", polls["/news"] > 2*polls["/terms"])
	// Output: news gets more than twice the polls of any other page: true
}

// fetch stands for the crawler's own fetching.
func fetch(url string, hour int) (version int) {
	if url == "/news" {
		return hour / 24
	}
	return hour / (24 * 180)
}

// poll asks and tells for a number of polls, one per unit of time, of pages that change at the
// given rates at random. It returns how many changes were found, and the time.
func poll(learner knapsack.Scheduler, rates []float64, from, polls int) (found int) {
	rng := rand.New(rand.NewPCG(3, 4))
	copied := make([]float64, len(rates)) // times of the copies
	for now := float64(from); now < float64(from+polls); now++ {
		page, err := learner.Next(now)
		if err != nil {
			panic(err)
		}
		slot := knapsack.Slot(page)
		changed := rng.ExpFloat64() < rates[slot]*(now-copied[slot])
		copied[slot] = now
		if changed {
			found++
		}
		if err := learner.Observe(page, now, changed); err != nil {
			panic(err)
		}
	}
	return found
}

// LambdaCrawl with its learner is the Planner for the harmonic cost under polls at random times.
func ExamplePlanner_lambdaCrawl() {
	lambdaCrawl, err := knapsack.NewPlanner(3, knapsack.PlannerConfig{
		Budget:    1, // poll per unit of time
		Objective: knapsack.Harmonic,
		Spacing:   knapsack.Random,
	}, rand.NewPCG(1, 2))
	if err != nil {
		panic(err)
	}
	poll(lambdaCrawl, []float64{0.5, 0.1, 0.02}, 0, 20_000)
	for page := range lambdaCrawl.All() {
		rate, _ := lambdaCrawl.Rate(page)
		x, _ := lambdaCrawl.Frequency(page)
		fmt.Printf("page %d: changes at rate %.2f, polled at frequency %.2f\n", page, rate, x)
	}
	// Output:
	// page 0: changes at rate 0.50, polled at frequency 0.56
	// page 1: changes at rate 0.10, polled at frequency 0.29
	// page 2: changes at rate 0.02, polled at frequency 0.15
}

// The policy of Azar et al. is the Planner for freshness under polls at random times. It gives
// little to page 0, which changes faster than it can be kept fresh.
func ExamplePlanner_azar() {
	azar, err := knapsack.NewPlanner(3, knapsack.PlannerConfig{
		Budget:    1, // poll per unit of time
		Objective: knapsack.Freshness,
		Spacing:   knapsack.Random,
	}, rand.NewPCG(1, 2))
	if err != nil {
		panic(err)
	}
	poll(azar, []float64{5, 0.1, 0.02}, 0, 20_000)
	for page := range azar.All() {
		x, _ := azar.Frequency(page)
		fmt.Printf("page %d: polled at frequency %.2f\n", page, x)
	}
	// Output:
	// page 0: polled at frequency 0.15
	// page 1: polled at frequency 0.57
	// page 2: polled at frequency 0.28
}

// The rule of Apache Nutch under a budget of one poll a minute, and uniform polling.
func ExampleAdaptive() {
	rates := make([]float64, 100) // changes a minute
	for page := range rates {
		rates[page] = 0.1 / float64(page+1)
	}
	const second = 1.0 / 60 // in minutes, the unit of time
	cfg := knapsack.Nutch(second)
	cfg.Start = 100 // pages over budget
	nutch, err := knapsack.NewAdaptive(len(rates), cfg)
	if err != nil {
		panic(err)
	}
	uniform, err := knapsack.NewFixed(slices.Repeat([]float64{1}, len(rates)), knapsack.Even, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println("changes found by Nutch's rule:", poll(nutch, rates, 0, 10_000))
	fmt.Println("changes found by polling uniformly:", poll(uniform, rates, 0, 10_000))
	// Output:
	// changes found by Nutch's rule: 3618
	// changes found by polling uniformly: 2711
}

// LAKG as in the paper: one poll per unit of time, drawn at random.
func ExampleLAKG() {
	lakg, err := knapsack.NewLAKG(3, knapsack.LAKGConfig{States: 100}, rand.NewPCG(1, 2))
	if err != nil {
		panic(err)
	}
	poll(lakg, []float64{0.5, 0.1, 0.02}, 0, 20_000)
	x := make([]float64, 3)
	for page := range lakg.All() {
		x[page], _ = lakg.Frequency(page)
	}
	fmt.Println("the more a page changes, the more it is polled:", x[0] > x[1] && x[1] > x[2])
	fmt.Printf("polls per unit of time: %.1f\n", x[0]+x[1]+x[2])
	// Output:
	// the more a page changes, the more it is polled: true
	// polls per unit of time: 1.0
}

// H-TRAA learns faster than LAKG from nothing.
func ExampleHTRAA() {
	rates := make([]float64, 200)
	for page := range rates {
		rates[page] = 0.3 / float64(page+1)
	}
	htraa, err := knapsack.NewHTRAA(len(rates), knapsack.HTRAAConfig{}, rand.NewPCG(1, 2))
	if err != nil {
		panic(err)
	}
	lakg, err := knapsack.NewLAKG(len(rates), knapsack.LAKGConfig{}, rand.NewPCG(1, 2))
	if err != nil {
		panic(err)
	}
	fmt.Println("H-TRAA finds more in 10,000 polls:", poll(htraa, rates, 0, 10_000) > poll(lakg, rates, 0, 10_000))
	// Output: H-TRAA finds more in 10,000 polls: true
}

// The variable-structure automaton needs no resolution and learns faster.
func ExampleVLAKG() {
	rates := []float64{0.5, 0.1, 0.02}
	game, err := knapsack.NewVLAKG(3, knapsack.VLAKGConfig{}, nil)
	if err != nil {
		panic(err)
	}
	lakg, err := knapsack.NewLAKG(3, knapsack.LAKGConfig{}, rand.NewPCG(1, 1))
	if err != nil {
		panic(err)
	}
	fmt.Println("finds more in 500 polls:", poll(game, rates, 0, 500) > poll(lakg, rates, 0, 500))
	// Output: finds more in 500 polls: true
}

// Estimating first costs the polls of the first phase.
func ExampleEstimateFirst() {
	rates := []float64{0.5, 0.1, 0.02}
	policy, err := knapsack.NewEstimateFirst(3, knapsack.EstimateFirstConfig{Phase: 300}, nil)
	if err != nil {
		panic(err)
	}
	fmt.Println("found in the phase:", poll(policy, rates, 0, 300))
	fmt.Println("found in as many polls after it:", poll(policy, rates, 300, 300))
	// Output:
	// found in the phase: 111
	// found in as many polls after it: 145
}

// With the same frequency for all pages, Fixed is the uniform policy.
func ExampleFixed() {
	uniform, err := knapsack.NewFixed(slices.Repeat([]float64{1}, 3), knapsack.Even, nil)
	if err != nil {
		panic(err)
	}
	if err := uniform.SetFrequency(2, 2); err != nil { // but page 2 twice as often
		panic(err)
	}
	polls := make([]int, 3)
	for now := range 400 {
		page, err := uniform.Next(float64(now))
		if err != nil {
			panic(err)
		}
		polls[page]++
		if err := uniform.Observe(page, float64(now), false); err != nil {
			panic(err)
		}
	}
	fmt.Println(polls)
	// Output: [100 99 201]
}

// Three pages that change 4, 1 and 0.1 times a day, and 3 polls a day. Uniform polling finds 1.71
// changes a day; no schedule finds more than the optimum.
func ExampleProblem_Optimal() {
	p := knapsack.Problem{Rates: []float64{4, 1, 0.1}, Budget: 3, Objective: knapsack.Detections}
	x, price, err := p.Optimal()
	if err != nil {
		panic(err)
	}
	found, _ := p.Value(x)
	fmt.Printf("polls a day %.2f, changes found %.2f, one more poll would find %.2f\n", x, found, price)

	p.Objective = knapsack.Freshness // what changes too fast to be kept fresh gets less
	x, _, _ = p.Optimal()
	fresh, _ := p.Value(x)
	fmt.Printf("polls a day %.2f, copies current %.2f\n", x, fresh)
	// Output:
	// polls a day [2.35 0.59 0.06], changes found 2.45, one more poll would find 0.51
	// polls a day [1.33 1.21 0.46], copies current 1.90
}

// Pages come and go. Ids are never given out twice, so that a late answer cannot reach the wrong
// page; Slot makes them indices of slices that do not grow.
func ExampleSlot() {
	learner, err := knapsack.NewRateFilter(2, knapsack.RateFilterConfig{})
	if err != nil {
		panic(err)
	}
	urls := []string{"/news", "/old"}
	if err := learner.Remove(1); err != nil {
		panic(err)
	}
	page := learner.Add()
	slot := knapsack.Slot(page)
	if slot == len(urls) {
		urls = append(urls, "")
	}
	urls[slot] = "/new"

	err = learner.GiveBack(1, 0)
	fmt.Println("the old id is", errors.Is(err, knapsack.ErrUnknown))
	for page := range learner.All() {
		fmt.Println(knapsack.Slot(page), urls[knapsack.Slot(page)])
	}
	// Output:
	// the old id is true
	// 0 /news
	// 1 /new
}

// A learner is saved in the middle of a run, with a poll in flight, and continues as if nothing
// had happened.
func ExampleLearner() {
	learner, err := knapsack.NewLAKG(3, knapsack.LAKGConfig{}, rand.NewPCG(1, 2))
	if err != nil {
		panic(err)
	}
	poll(learner, []float64{0.5, 0.1, 0.02}, 0, 1000)
	page, err := learner.Next(1000)
	if err != nil {
		panic(err)
	}
	saved, err := learner.MarshalBinary() // to a file
	if err != nil {
		panic(err)
	}

	restored := new(knapsack.LAKG)
	if err := restored.UnmarshalBinary(saved); err != nil {
		panic(err)
	}
	for _, l := range []knapsack.Learner{learner, restored} {
		if err := l.Observe(page, 1001, true); err != nil { // the answer to the poll in flight
			panic(err)
		}
	}
	next, _ := learner.Next(1002)
	same, _ := restored.Next(1002)
	fmt.Println(next == same)
	// Output: true
}

// A poll that got no answer is given back: it found out nothing about the page, which is asked for
// again. Observe with "unchanged" would teach the learner that the page is quiet.
func ExampleLearner_giveBack() {
	learner, err := knapsack.NewRateFilter(2, knapsack.RateFilterConfig{})
	if err != nil {
		panic(err)
	}
	down := func(page int, hour float64) bool { return page == 0 && hour < 10 }
	answers, failures := map[int]int{}, 0
	for hour := 1.0; hour <= 100; hour++ {
		page, err := learner.Next(hour)
		if errors.Is(err, knapsack.ErrNoPage) {
			continue // a page that failed is not asked for again at once
		}
		if err != nil {
			panic(err)
		}
		if down(page, hour) {
			failures++
			err = learner.GiveBack(page, hour)
		} else {
			answers[page]++
			err = learner.Observe(page, hour, true)
		}
		if err != nil {
			panic(err)
		}
	}
	fmt.Println("failed:", failures > 0, "answered since:", answers[0] > 30)
	// Output: failed: true answered since: true
}

// What only one type of learner can do is reached through With, by the keys of the Keyed and under its
// lock.
func ExampleWith() {
	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	if err != nil {
		panic(err)
	}
	pages := knapsack.NewKeyed[string](filter)
	pages.Add("/news")
	pages.Add("/terms")

	const day = 24 * 60 * 60 // in seconds, the unit of a Keyed
	err = knapsack.With(pages, func(f *knapsack.RateFilter, page func(string) (int, error)) error {
		terms, err := page("/terms")
		if err != nil {
			return err
		}
		return f.SetInterval(terms, 7*day, math.Inf(1)) // no oftener than once a week
	})
	fmt.Println(err)

	// A Keyed may hold another learner, and not every key is known.
	err = knapsack.With(pages, func(*knapsack.LAKG, func(string) (int, error)) error { return nil })
	fmt.Println("unsupported:", errors.Is(err, errors.ErrUnsupported))
	err = knapsack.With(pages, func(_ *knapsack.RateFilter, page func(string) (int, error)) error {
		_, err := page("/about")
		return err
	})
	fmt.Println("unknown:", errors.Is(err, knapsack.ErrUnknown))
	// Output:
	// <nil>
	// unsupported: true
	// unknown: true
}
