package knapsack_test

import (
	"fmt"
	"math/rand/v2"

	"github.com/recrawl/recrawl/knapsack"
)

// The whole use of a learner: ask, fetch, tell. Here one page of four changes
// daily, the others hardly ever, and there is one poll an hour.
func Example() {
	urls := []string{"/news", "/terms", "/about", "/contact"}
	learner, err := knapsack.NewLAKG(len(urls), knapsack.LAKGConfig{States: 100}, rand.NewPCG(1, 2))
	if err != nil {
		panic(err)
	}
	seen := map[string]int{} // version of each page at its last poll
	polls := map[string]int{}
	for hour := 1; hour <= 24*365; hour++ {
		page, err := learner.Next(float64(hour)) // ask
		if err != nil {
			panic(err)
		}
		url := urls[page]
		version := fetch(url, hour)
		if err := learner.Observe(page, float64(hour), version != seen[url]); err != nil { // tell
			panic(err)
		}
		seen[url] = version
		polls[url]++
	}
	fmt.Println("news is polled more than all others:", polls["/news"] > 24*365/2)
	// Output: news is polled more than all others: true
}

// fetch stands for the crawler's own fetching.
func fetch(url string, hour int) (version int) {
	if url == "/news" {
		return hour / 24
	}
	return hour / (24 * 180)
}
