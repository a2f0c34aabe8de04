package knapsack_test

import (
	"encoding/json"
	"expvar"
	"fmt"
	"time"

	"github.com/recrawl/recrawl/knapsack"
)

// A crawler's numbers at /debug/vars, read only when somebody asks. Any other metrics library can
// be fed in the same way.
func ExampleStats_expvar() {
	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	if err != nil {
		panic(err)
	}
	pages := knapsack.NewKeyed[string](filter)
	expvar.Publish("crawl", expvar.Func(func() any {
		var stats knapsack.Stats
		_ = knapsack.With(pages, func(f *knapsack.RateFilter, _ func(string) (int, error)) error {
			stats = f.Stats()
			return nil
		})
		return stats
	}))

	start := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, url := range []string{"/news", "/terms", "/gone"} {
		pages.Add(url)
	}
	for hour := range 300 {
		now := start.Add(time.Duration(hour) * time.Hour)
		url, err := pages.Next(now)
		if err != nil {
			continue // all pages wait
		}
		if url == "/gone" {
			err = pages.GiveBack(url, now)
		} else {
			err = pages.Observe(url, now, url == "/news")
		}
		if err != nil {
			panic(err)
		}
	}

	var shown knapsack.Stats
	if err := json.Unmarshal([]byte(expvar.Get("crawl").String()), &shown); err != nil {
		panic(err)
	}
	fmt.Println("pages:", shown.Pages, "in flight:", shown.InFlight, "failing:", shown.Failing)
	fmt.Println("a tenth of the polls fail at most:", 10*shown.Failures <= shown.Polls)
	fmt.Printf("polls an hour: %.0f\n", 3600*shown.Budget)
	// Output:
	// pages: 3 in flight: 0 failing: 1
	// a tenth of the polls fail at most: true
	// polls an hour: 1
}
