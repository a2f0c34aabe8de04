package webenv_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"time"

	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/webenv"
)

// inTurn polls the pages one after the other; it learns nothing.
type inTurn struct{ pages, polls int }

func (s *inTurn) Next(now float64) (page int, err error) {
	page = s.polls % s.pages
	s.polls++
	return page, nil
}

func (s *inTurn) Observe(page int, now float64, changed bool) error { return nil }

// Does a learner pay? Of 100 pages a few change often. LAKG and a scheduler that polls the pages in
// turn have the same budget in the same web.
func Example() {
	for _, name := range []string{"in turn", "LAKG"} {
		env, err := webenv.NewPoisson(webenv.ZipfLaw(100, 0.5, 1.2), rand.NewPCG(1, 2))
		if err != nil {
			panic(err)
		}
		var scheduler webenv.Scheduler = &inTurn{pages: env.Len()}
		if name == "LAKG" {
			cfg := knapsack.LAKGConfig{States: 300, Start: 0.01}
			if scheduler, err = knapsack.NewLAKG(env.Len(), cfg, rand.NewPCG(3, 4)); err != nil {
				panic(err)
			}
		}
		result, err := webenv.Run(env, scheduler, webenv.RunConfig{Rate: 2, Duration: 20_000})
		if err != nil {
			panic(err)
		}
		fmt.Printf("%s: %d of %d polls found a change\n", name, result.Detected, result.Polls)
	}
	// Output:
	// in turn: 12582 of 40000 polls found a change
	// LAKG: 18488 of 40000 polls found a change
}

// The smallest of the papers' experiments: 500 pages, one poll per slot.
func ExampleRun() {
	env, err := webenv.NewZipf(webenv.ZipfConfig{}, rand.NewPCG(1, 2))
	if err != nil {
		panic(err)
	}
	result, err := webenv.Run(env, &inTurn{pages: env.Len()}, webenv.RunConfig{Rate: 1, Polls: 100_000})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.3f of the polls found a change\n", float64(result.Detected)/float64(result.Polls))
	fmt.Printf("%.2f of the copies were current\n", result.Freshness)
	// Output:
	// 0.122 of the polls found a change
	// 0.92 of the copies were current
}

// Answers take a fifth of a unit of time, and one in ten is lost. GiveBack of the scheduler, if it
// has one, is called for these.
func ExampleRun_latencyAndLoss() {
	env, err := webenv.NewPoisson(webenv.ZipfLaw(100, 2, 0.5), rand.NewPCG(1, 2))
	if err != nil {
		panic(err)
	}
	result, err := webenv.Run(env, &inTurn{pages: env.Len()}, webenv.RunConfig{
		Rate: 50, Duration: 200, Buckets: 4,
		Latency: func(page int) float64 { return 0.2 },
		Loss:    0.1, Source: rand.NewPCG(3, 4),
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(result.Polls, "polls answered,", result.Lost, "lost")
	fmt.Printf("%.2f of the copies were current\n", result.Freshness)
	for _, part := range result.Curve {
		fmt.Printf("until %.0f: %d changes found\n", part.End, part.Detected)
	}
	// Output:
	// 9013 polls answered, 987 lost
	// 0.70 of the copies were current
	// until 50: 1108 changes found
	// until 100: 1099 changes found
	// until 150: 1125 changes found
	// until 200: 1119 changes found
}

// Pages that change in bursts: a tenth of the time, ten times as fast as their rate.
func ExampleNewBursty() {
	env, err := webenv.NewBursty([]float64{0.5, 0.5}, webenv.BurstyConfig{}, rand.NewPCG(1, 2))
	if err != nil {
		panic(err)
	}
	for day := 1.0; day <= 60; day++ {
		if since, changed := env.Poll(0, day); changed {
			fmt.Printf("day %.0f: changed at %.2f, rate now %.2f\n", day, since, env.Rate(0, day))
		}
	}
	// Output:
	// day 2: changed at 1.17, rate now 5.00
	// day 3: changed at 2.14, rate now 5.00
	// day 4: changed at 3.04, rate now 5.00
	// day 5: changed at 4.15, rate now 5.00
	// day 17: changed at 16.57, rate now 5.00
	// day 18: changed at 17.09, rate now 0.00
	// day 32: changed at 31.31, rate now 0.00
	// day 56: changed at 55.56, rate now 5.00
	// day 57: changed at 56.09, rate now 5.00
	// day 58: changed at 57.02, rate now 5.00
	// day 59: changed at 58.12, rate now 0.00
}

// Three pages that change with given probabilities per slot, and move on to those of their
// neighbours after every 100 slots.
func ExampleNewSlots() {
	env, err := webenv.NewSlots([]float64{0.3, 0.1, 0.02}, webenv.AtMostOnce, 100, rand.NewPCG(1, 2))
	if err != nil {
		panic(err)
	}
	changes := [2][3]int{}
	for slot := 1.0; slot <= 200; slot++ {
		for page := range env.Len() {
			if _, changed := env.Poll(page, slot); changed {
				changes[int((slot-1)/100)][page]++
			}
		}
	}
	fmt.Println("in the first hundred slots:", changes[0])
	fmt.Println("in the second:", changes[1])
	// Output:
	// in the first hundred slots: [29 9 1]
	// in the second: [8 1 30]
}

// The pages of two sites, by their top-level domains, change as in the paper. Their probabilities
// move on by one page after every 50 slots.
func ExampleDomainLaw() {
	u, err := webenv.DomainLaw([]webenv.Site{{Domain: "com", Pages: 2}, {Domain: "org", Pages: 3}})
	if err != nil {
		panic(err)
	}
	fmt.Println(u)
	env, err := webenv.NewSlots(u, webenv.AtMostOnce, 50, rand.NewPCG(1, 2))
	if err != nil {
		panic(err)
	}
	fmt.Printf("a rate of %.3f at first, of %.3f after a shift\n", env.Rate(1, 0), env.Rate(1, 50))

	_, err = webenv.DomainLaw([]webenv.Site{{Domain: "info", Pages: 2}})
	fmt.Println(err)
	// Output:
	// [0.3 0.3 0.05 0.05 0.05]
	// a rate of 0.357 at first, of 0.051 after a shift
	// webenv: setting out of range: site 0: domain "info" is not com, net, edu or org
}

// A simulated web whose unit of time is an hour begins on the first of March.
func ExampleCalendar() {
	calendar := webenv.Calendar{Epoch: time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC), Unit: time.Hour}
	fmt.Println(calendar.Date(36.5).Format(time.RFC1123))
	fmt.Println(calendar.Time(time.Date(2024, 3, 2, 0, 0, 0, 0, time.UTC)))

	var recorded webenv.Calendar // seconds since 1970
	fmt.Println(recorded.Date(1709251200).Format(time.RFC1123))
	// Output:
	// Sat, 02 Mar 2024 12:30:00 UTC
	// 24
	// Fri, 01 Mar 2024 00:00:00 UTC
}

// The environments are saved with their sources of randomness, and continue bit for bit.
func ExampleSimulated() {
	env, err := webenv.NewPoisson([]float64{1, 0.1}, rand.NewPCG(1, 2))
	if err != nil {
		panic(err)
	}
	env.Poll(0, 5)
	saved, err := env.MarshalBinary()
	if err != nil {
		panic(err)
	}
	twin, err := webenv.NewPoisson([]float64{1}, rand.NewPCG(0, 0))
	if err != nil {
		panic(err)
	}
	if err := twin.UnmarshalBinary(saved); err != nil {
		panic(err)
	}
	fmt.Println(env.Poll(0, 7))
	fmt.Println(twin.Poll(0, 7))
	// Output:
	// 5.068003458880784 true
	// 5.068003458880784 true
}

// thrifty accesses each site from the access points in turn, and then from the fastest.
type thrifty struct {
	arms, crawls int
	best         map[int]int
	least        map[int]float64
	last         int
}

func (c *thrifty) Next(site int) (arm int, err error) {
	if site == 0 {
		c.crawls++
	}
	if c.last = c.crawls - 1; c.last >= c.arms {
		c.last = c.best[site]
	}
	return c.last, nil
}

func (c *thrifty) Observe(site int, duration float64) error {
	if least, tried := c.least[site]; !tried || duration < least {
		c.best[site], c.least[site] = c.last, duration
	}
	return nil
}

// 900 sites and 3 access points, as in the paper. The chooser tries all, and stays with the
// fastest; package partition has better ones.
func ExampleDurations() {
	web, err := webenv.NewDurations(webenv.DurationsConfig{Noise: webenv.UniformNoise, Scatter: 0.2}, rand.NewPCG(1, 2))
	if err != nil {
		panic(err)
	}
	chooser := &thrifty{arms: web.Arms(), best: map[int]int{}, least: map[int]float64{}}
	for range 4 {
		crawl, err := web.Crawl(chooser)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%d of %d sites in place, %.0f units\n", crawl.Placed, crawl.Sites, crawl.Duration)
	}
	least, _ := web.Optimum()
	fmt.Printf("at best %.0f\n", least)
	// Output:
	// 292 of 900 sites in place, 39754 units
	// 295 of 900 sites in place, 39876 units
	// 313 of 900 sites in place, 38910 units
	// 900 of 900 sites in place, 22272 units
	// at best 22230
}

func ExampleReadHistory() {
	const record = "home,1000,1600,2200\nterms,1300\nlogo\n"
	history, err := webenv.ReadHistory(strings.NewReader(record), "record.csv")
	if err != nil {
		panic(err)
	}
	first, last, _ := history.Span()
	fmt.Println(history.Len(), "pages, changes from", first, "to", last)

	env, err := webenv.NewReplay(history, first)
	if err != nil {
		panic(err)
	}
	fmt.Println(env.Poll(0, 2000))
	fmt.Println(env.Poll(0, 2100))

	_, err = webenv.ReadHistory(strings.NewReader("home,1000\nterms,yesterday\n"), "record.csv")
	fmt.Println(err)
	// Output:
	// 3 pages, changes from 1000 to 2200
	// 1600 true
	// 0 false
	// record.csv:2: webenv: bad time: "yesterday"
}

func ExampleHistory_WriteTo() {
	history := webenv.History{
		Names: []string{"home", "logo"},
		Times: [][]float64{{1709251200, 1709337600.5}, nil},
	}
	if _, err := history.WriteTo(os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// home,1709251200,1709337600.5
	// logo
}
