package knapsack_test

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/recrawl/recrawl/knapsack"
)

// pollsOf runs a filter over so many hours, one poll an hour, of pages that all change every
// period(page) hours, and counts the polls of each.
func pollsOf(f *knapsack.RateFilter, hours int, period func(page int) int) map[int]int {
	polls, seen := map[int]int{}, map[int]int{}
	for hour := range hours {
		page, err := f.Next(float64(hour))
		if errors.Is(err, knapsack.ErrNoPage) {
			continue // all pages are held back by their limits: this hour's poll is saved
		}
		if err != nil {
			panic(err)
		}
		version := hour / period(page)
		if err := f.Observe(page, float64(hour), version != seen[page]); err != nil {
			panic(err)
		}
		seen[page] = version
		polls[page]++
	}
	return polls
}

// The whole use: ask with Next, tell with Observe.
func ExampleRateFilter() {
	f, err := knapsack.NewRateFilter(4, knapsack.RateFilterConfig{Objective: knapsack.Freshness})
	if err != nil {
		panic(err)
	}
	// Page 0 changes every 12 hours, page 1 every 200, pages 2 and 3 never.
	version := func(page, hour int) int { return hour / []int{12, 200, 1e9, 1e9}[page] }
	seen := make([]int, 4)
	for hour := range 5000 {
		page, err := f.Next(float64(hour))
		if err != nil {
			panic(err)
		}
		v := version(page, hour)
		if err := f.Observe(page, float64(hour), v != seen[page]); err != nil {
			panic(err)
		}
		seen[page] = v
	}
	often, _ := f.Rate(0)
	seldom, _ := f.Rate(1)
	fmt.Println("page 0 changes more than 5 times as often as page 1:", often.Mean > 5*seldom.Mean)
	// Output: page 0 changes more than 5 times as often as page 1: true
}

// Page 0 is a front page that must be looked at once a day; page 1 is on a slow server and
// is left alone for a week after each poll.
func ExampleRateFilter_SetInterval() {
	f, _ := knapsack.NewRateFilter(10, knapsack.RateFilterConfig{})
	_ = f.SetInterval(0, 0, 24)
	_ = f.SetInterval(1, 7*24, math.Inf(1))
	polls := pollsOf(f, 1000, func(page int) int { return 50 })
	fmt.Println("front page at least daily:", polls[0] >= 1000/25)
	fmt.Println("slow page at most weekly:", polls[1] <= 1000/(7*24)+1)
	// Output:
	// front page at least daily: true
	// slow page at most weekly: true
}

// Pages 0 to 4 are on one host, which allows a request every 4 hours and is not to take
// more than a fifth of the budget.
func ExampleRateFilter_AddGroup() {
	f, _ := knapsack.NewRateFilter(10, knapsack.RateFilterConfig{})
	host, err := f.AddGroup(knapsack.GroupConfig{MinGap: 4, MaxShare: 0.2})
	if err != nil {
		panic(err)
	}
	for page := range 5 {
		if err := f.SetGroup(page, host); err != nil {
			panic(err)
		}
	}
	polls := pollsOf(f, 1000, func(page int) int { return 50 })
	sum := 0
	for page := range 5 {
		sum += polls[page]
	}
	fmt.Println("polls of the host are within its share:", sum > 150 && sum <= 202)
	// Output: polls of the host are within its share: true
}

// Groups by host, of URLs behind a Keyed. One of the hosts allows one request every 4 hours.
func ExampleGroups() {
	f, _ := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	pages := knapsack.NewKeyed[string](f)
	hosts := make(knapsack.Groups)
	var err error
	for _, url := range []string{"https://a.example/x", "https://a.example/y", "https://b.example/"} {
		pages.Add(url)
		err = errors.Join(err, knapsack.With(pages, func(f *knapsack.RateFilter, page func(string) (int, error)) error {
			id, err := page(url)
			if err != nil {
				return err
			}
			return hosts.Join(f, id, knapsack.Host(url))
		}))
	}
	err = errors.Join(err, knapsack.With(pages, func(f *knapsack.RateFilter, _ func(string) (int, error)) error {
		return f.LimitGroup(hosts["a.example"], knapsack.GroupConfig{MinGap: 4 * 3600})
	}))
	if err != nil {
		panic(err)
	}
	now := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	for range 2 {
		_, err = pages.Next(now)
	}
	_, err = pages.Next(now)
	fmt.Println(len(hosts), "hosts; the second page of a.example waits:", errors.Is(err, knapsack.ErrNoPage))
	// Output: 2 hosts; the second page of a.example waits: true
}

// All pages change alike, but page 0 counts ten times as much as another one.
func ExampleRateFilter_SetWeight() {
	f, _ := knapsack.NewRateFilter(10, knapsack.RateFilterConfig{})
	if err := f.SetWeight(0, 10); err != nil {
		panic(err)
	}
	polls := pollsOf(f, 3000, func(page int) int { return 20 })
	fmt.Println("page 0 gets more than twice the polls of page 1:", polls[0] > 2*polls[1])
	// Output: page 0 gets more than twice the polls of page 1: true
}

// Pages 0 to 4 must be rendered, which costs ten times as much. The caller asks when it can pay: here for
// one unit an hour.
func ExampleRateFilter_SetCost() {
	f, _ := knapsack.NewRateFilter(10, knapsack.RateFilterConfig{})
	cost := func(page int) float64 {
		if page < 5 {
			return 10
		}
		return 1
	}
	for page := range 5 {
		if err := f.SetCost(page, cost(page)); err != nil {
			panic(err)
		}
	}
	polls, seen := map[int]int{}, map[int]int{}
	for hour := 0.0; hour < 5000; {
		page, err := f.Next(hour)
		if err != nil {
			panic(err)
		}
		version := int(hour / 200)
		if err := f.Observe(page, hour, version != seen[page]); err != nil {
			panic(err)
		}
		seen[page] = version
		polls[page]++
		hour += cost(page)
	}
	fmt.Println("page 9 gets more than twice the polls of page 0:", polls[9] > 2*polls[0])
	// Output: page 9 gets more than twice the polls of page 0: true
}

// A server answers 429 with Retry-After: the poll is given back, and the page waits.
func ExampleRateFilter_Defer() {
	f, _ := knapsack.NewRateFilter(2, knapsack.RateFilterConfig{})
	page, err := f.Next(0)
	if err != nil {
		panic(err)
	}
	if err := errors.Join(f.GiveBack(page, 0), f.Defer(page, 3600)); err != nil {
		panic(err)
	}
	due, _ := f.Due(page)
	other, _ := f.Next(1)
	_, err = f.Next(2)
	fmt.Println(due, other != page, err)
	// Output: 3600 true knapsack: no page may be polled now: not before 3600
}

// A feed mentions page 77: it is polled soon after.
func ExampleRateFilter_Signal() {
	f, _ := knapsack.NewRateFilter(100, knapsack.RateFilterConfig{Objective: knapsack.Detections})
	pollsOf(f, 5000, func(page int) int { return 50 + 10*page })
	if err := f.Signal(77, 0, 5000); err != nil {
		panic(err)
	}
	for poll := 1; ; poll++ {
		page, err := f.Next(5000)
		if err != nil {
			panic(err)
		}
		if page == 77 {
			fmt.Println("within 10 polls of 100 pages:", poll <= 10)
			break
		}
	}
	// Output: within 10 polls of 100 pages: true
}

// A package registry tells when each release was made. So every poll tells all changes, and a
// package starts learnt.
func ExampleRateFilter_RecordChanges() {
	f, _ := knapsack.NewRateFilter(3, knapsack.RateFilterConfig{})
	released := []float64{-51, -44, -38, -33, -25, -20, -14, -8, -2, 3, 9, 15.5, 22} // of page 0
	until := func(day float64) []float64 {
		k := 0
		for k < len(released) && released[k] <= day {
			k++
		}
		return released[:k]
	}
	if err := f.RecordChanges(0, -60, 0, until(0)); err != nil { // the last 60 days
		panic(err)
	}
	for day := 0.0; day < 30; day++ {
		page, err := f.Next(day)
		if err != nil {
			panic(err)
		}
		if page == 0 { // what is known already is ignored
			if err := f.RecordChanges(0, -60, day, until(day)); err != nil {
				panic(err)
			}
		}
		if err := f.Observe(page, day, false); err != nil {
			panic(err)
		}
	}
	rate, _ := f.Rate(0)
	fmt.Println("about one release in six days:", rate.Low < 1.0/6 && 1.0/6 < rate.High)
	// Output: about one release in six days: true
}

// How much a larger budget would bring: the price of a poll, what twice the budget would reach, and
// the polls that a freshness takes.
func ExampleRateFilter_WhatIf() {
	f, _ := knapsack.NewRateFilter(50, knapsack.RateFilterConfig{Objective: knapsack.Freshness})
	pollsOf(f, 5000, func(page int) int { return 20 + 10*page })
	fmt.Println("another poll an hour is worth something:", f.Price() > 0)
	now, err := f.WhatIf(knapsack.Freshness, 1)
	if err != nil {
		panic(err)
	}
	twice, err := f.WhatIf(knapsack.Freshness, 2)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.0f %% of the copies are current, with twice the polls %.0f %%\n", 100*now, 100*twice)
	half, err := f.PollsFor(knapsack.Freshness, 0.5)
	if err != nil {
		panic(err)
	}
	most, err := f.PollsFor(knapsack.Freshness, 0.9)
	if err != nil {
		panic(err)
	}
	fmt.Println("0.9 fresh takes more than 1.8 times the polls of 0.5:", most > 1.8*half)
	// Output:
	// another poll an hour is worth something: true
	// 85 % of the copies are current, with twice the polls 92 %
	// 0.9 fresh takes more than 1.8 times the polls of 0.5: true
}

// A filter is saved in the middle of a run and goes on where it was.
func ExampleRateFilter_MarshalBinary() {
	f, _ := knapsack.NewRateFilter(20, knapsack.RateFilterConfig{})
	pollsOf(f, 500, func(page int) int { return 10 + page })
	data, err := f.MarshalBinary()
	if err != nil {
		panic(err)
	}
	var restored knapsack.RateFilter // the zero value will do
	if err := restored.UnmarshalBinary(data); err != nil {
		panic(err)
	}
	a, _ := f.Next(500)
	b, _ := restored.Next(500)
	fmt.Println(a == b)
	// Output: true
}

// Pages come and go. A page added after a removal gets an id that was never given out before;
// Slot is the index for the crawler's own tables.
func ExampleRateFilter_Add() {
	f, _ := knapsack.NewRateFilter(2, knapsack.RateFilterConfig{})
	urls := []string{"/a", "/b"} // by slot
	if err := f.Remove(0); err != nil {
		panic(err)
	}
	id := f.Add()
	if slot := knapsack.Slot(id); slot < len(urls) {
		urls[slot] = "/c"
	} else {
		urls = append(urls, "/c")
	}
	for page := range f.All() {
		fmt.Println(urls[knapsack.Slot(page)])
	}
	fmt.Println(f.Len(), "pages; the removed one is unknown:", errors.Is(f.Remove(0), knapsack.ErrUnknown))
	// Output:
	// /c
	// /b
	// 2 pages; the removed one is unknown: true
}
