// Command crawl is a crawler that learns how often its pages change and polls them accordingly. Of
// its own accord it shows itself on a web of which the truth is known; with -urls and the like it
// crawls your pages, on one machine, for as long as you like.
package main

import (
	"fmt"
	"io"
	"time"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/knapsack"
)

func main() { report.Main("crawl", run) }

const intro = `A crawler that learns how often pages change, and spends its budget of polls on those that are
most worth it. Without pages of yours it crawls a web of its own over HTTP, of which the truth is
known, and in which time runs fast: hosts behave badly in a dozen ways, and the same budget
is spent beside it equally, and by the rule of Nutch.

  go run ./examples/crawl
  go run ./examples/crawl -urls FILE -per-day 20000 -user-agent 'my-crawler (+https://example.org/bot)'`

// settings are the command line.
type settings struct {
	*report.Program
	length    time.Duration
	objective knapsack.Objective
	groups    int
	workers   int

	// Of the demonstration.
	hostPages int
	speed     float64
}

func parse(args []string, stdout, stderr io.Writer) (*settings, error) {
	s := &settings{Program: report.NewProgram("crawl", intro, "the demonstration in ten seconds", stdout, stderr)}
	f := s.Flags
	f.DurationVar(&s.length, "for", 0, "`time` to crawl; 0 is a minute for the demonstration, and else until interrupted")
	f.TextVar(&s.objective, "objective", knapsack.Detections, "what the budget is to buy: `detections`, freshness, age, harmonic or delay")
	f.IntVar(&s.groups, "groups", 4, "`number` of groups of workers")
	f.IntVar(&s.workers, "workers", 16, "`number` of workers in a group, each of which makes one poll at a time")
	f.IntVar(&s.hostPages, "n", 48, "demonstration: `pages` of each of the 32 hosts; 16 if -quick")
	f.Float64Var(&s.speed, "speed", 24, "demonstration: `hours` of the web in a second")
	if err := s.Parse(args); err != nil {
		return nil, err
	}
	if s.Quick && !s.Given("n") {
		s.hostPages = 16
	}
	if s.Quick && !s.Given("speed") {
		s.speed = 72
	}
	switch {
	case s.length < 0:
		return nil, report.Usagef("-for %v: want no less than 0", s.length)
	case s.groups < 1 || s.workers < 1:
		return nil, report.Usagef("-groups %d, -workers %d: want 1 at least", s.groups, s.workers)
	case s.hostPages < 1:
		return nil, report.Usagef("-n %d: want 1 at least", s.hostPages)
	case !(s.speed > 0 && s.speed <= 1000):
		return nil, report.Usagef("-speed %v: want more than 0 and at most 1000", s.speed)
	}
	return s, nil
}

func run(args []string, stdout, stderr io.Writer) error {
	s, err := parse(args, stdout, stderr)
	if err != nil {
		return err
	}
	if err := s.demonstrate(); err != nil {
		return fmt.Errorf("demonstration: %w", err)
	}
	return nil
}
