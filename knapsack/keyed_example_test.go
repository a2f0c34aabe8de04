package knapsack_test

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/recrawl/recrawl/knapsack"
)

// A crawler of several workers: URLs in, URLs out. It is saved while a poll is in flight, which is
// given back when it is restored.
func ExampleKeyed() {
	crawl := func() *knapsack.Keyed[string] {
		filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
		if err != nil {
			panic(err)
		}
		return knapsack.NewKeyed[string](filter)
	}
	pages := crawl()
	for _, url := range []string{"/news", "/terms", "/about", "/contact"} {
		pages.Add(url)
	}
	// The front page counts twice.
	err := knapsack.With(pages, func(f *knapsack.RateFilter, page func(string) (int, error)) error {
		news, err := page("/news")
		if err != nil {
			return err
		}
		return f.SetWeight(news, 2)
	})
	if err != nil {
		panic(err)
	}

	start := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	var workers sync.WaitGroup
	for range 3 {
		workers.Go(func() {
			for hour := range 200 {
				now := start.Add(time.Duration(hour) * time.Hour) // time.Now() in a crawler
				url, err := pages.Next(now)
				if errors.Is(err, knapsack.ErrNoPage) {
					continue
				}
				if err != nil {
					panic(err)
				}
				if err := pages.Observe(url, now, fetch(url, hour) != fetch(url, hour-1)); err != nil {
					panic(err)
				}
			}
		})
	}
	workers.Wait()

	// The crawler stops while a poll is in flight, and starts again.
	if _, err := pages.Next(start.AddDate(0, 0, 9)); err != nil {
		panic(err)
	}
	blob, err := pages.MarshalBinary()
	if err != nil {
		panic(err)
	}
	restored := crawl()
	if err := restored.UnmarshalBinary(blob); err != nil {
		panic(err)
	}
	inFlight := 0
	for range restored.InFlight() {
		inFlight++
	}
	fmt.Println(restored.Len(), "pages,", inFlight, "in flight")
	// Output: 4 pages, 0 in flight
}

// What is known of a page fits a row of a database.
func ExampleKeyed_Export() {
	learner, err := knapsack.NewAdaptive(0, knapsack.AdaptiveConfig{Start: 3600})
	if err != nil {
		panic(err)
	}
	feeds := knapsack.NewKeyed[int64](learner)
	feeds.Add(4711)
	row, err := feeds.Export(4711)
	if err != nil {
		panic(err)
	}

	again, err := knapsack.NewAdaptive(0, knapsack.AdaptiveConfig{})
	if err != nil {
		panic(err)
	}
	other := knapsack.NewKeyed[int64](again)
	if err := other.Import(4711, row); err != nil { // adds the feed
		panic(err)
	}
	err = other.GiveBack(815, time.Now())
	var about *knapsack.KeyError[int64]
	fmt.Println(other.Len(), errors.As(err, &about), about.Key, errors.Is(err, knapsack.ErrUnknown))
	// Output: 1 true 815 true
}
