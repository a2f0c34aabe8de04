package webenv_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"

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

// The smallest of the papers' experiments: 500 pages, one poll per slot.
func ExampleRun() {
	env, err := webenv.NewZipf(webenv.ZipfConfig{Pages: 500, Alpha: 0.3, Beta: 1.5}, rand.NewPCG(1, 2))
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

func ExampleReadHistory() {
	const record = "home,1000,1600,2200\nterms,1300\nlogo\n"
	history, err := webenv.ReadHistory(strings.NewReader(record), "record.csv")
	if err != nil {
		panic(err)
	}
	first, last, _ := history.Span()
	fmt.Println(history.Len(), "pages,", history.Changes(), "changes from", first, "to", last)

	env, err := webenv.NewReplay(history, first)
	if err != nil {
		panic(err)
	}
	fmt.Println(env.Poll(0, 2000))
	fmt.Println(env.Poll(0, 2100))

	_, err = webenv.ReadHistory(strings.NewReader("home,1000\nterms,yesterday\n"), "record.csv")
	fmt.Println(err)
	// Output:
	// 3 pages, 4 changes from 1000 to 2200
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
