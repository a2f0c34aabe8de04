package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/webenv"
)

// logPolicies are tried on a log unless others are named.
const logPolicies = "uniform,nutch,stormcrawler,newscrawl,miniflux,cho,gamma,discounted,rate-filter,rate-filter+groups"

// ownPolicy stands for the crawler that wrote the log.
var ownPolicy = policy{name: "your crawler"}

// openLog reads the log that the flags name.
func (s *settings) openLog() (*crawlLog, error) {
	if s.log == "-" {
		return readLog(s.stdin, s.logName())
	}
	f, err := os.Open(s.log)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, fmt.Errorf("%s is a folder: want the file of a log", s.log)
	}
	defer func() { _ = f.Close() }()
	return readLog(f, s.log)
}

// replay polls a world as the log did.
func (l *crawlLog) replay(w *world) (*outcome, error) {
	env, err := w.open(nil)
	if err != nil {
		return nil, err
	}
	a := &account{env: env, missed: newMissed(w, nil)}
	for page, polls := range l.polls {
		for _, p := range polls[1:] {
			a.poll(page, p.time)
		}
	}
	o := &outcome{policy: ownPolicy}
	o.add(w, a.settle(w), a.missed, 1)
	return o, nil
}

// A roster is a scheduler whose pages come and go.
type roster interface {
	webenv.Scheduler
	Add() (id int)
	Remove(id int) error
}

// crawl lets a policy poll a world at the times at which the log did. It has the pages that
// the crawler had at each time. The first poll of a page is its first copy, which nobody
// can choose.
func (l *crawlLog) crawl(w *world, o *outcome, by goal, seed, draw uint64, groups string) error {
	env, err := w.open(nil)
	if err != nil {
		return err
	}
	times := l.repeated()
	// The pages are in the order of their beginnings.
	present := sort.Search(w.pages, func(page int) bool { return w.lives[page].from > times[0] })
	j := w.job(env, by.objective, rand.NewPCG(seed, draw))
	j.pages, j.start, j.groups = present, times[0], groups
	j.rate = float64(present*len(times)) / w.pageTime(nil)
	scheduler, err := o.policy.new(j)
	if err != nil {
		return err
	}
	policy := scheduler.(roster)
	joins, _ := scheduler.(joiner)
	ids, pages := make([]int, w.pages), make([]int, w.pages) // the id of each page, the page of each slot
	for page := range present {
		ids[page], pages[page] = page, page
	}
	ends := w.ends()
	a := &account{env: env, missed: newMissed(w, nil)}
	for _, now := range times {
		for ; present < w.pages && w.lives[present].from <= now; present++ {
			id := policy.Add()
			ids[present], pages[knapsack.Slot(id)] = id, present
			if joins != nil {
				if err := joins.join(id, present, w.lives[present].from); err != nil {
					return err
				}
			}
		}
		for ; w.lives[ends[0]].to < now; ends = ends[1:] {
			if err := policy.Remove(ids[ends[0]]); err != nil {
				return err
			}
		}
		id, err := policy.Next(now)
		if err != nil {
			return err
		}
		if err := policy.Observe(id, now, a.poll(pages[knapsack.Slot(id)], now)); err != nil {
			return err
		}
	}
	o.add(w, a.settle(w), a.missed, 1)
	return nil
}

// dryRun lets each policy poll what the log may have been written on, once for each draw,
// and returns the outcomes, that of the crawler of the log first.
func (s *settings) dryRun(l *crawlLog, chosen []policy, by goal) (*world, []*outcome, error) {
	worlds := make([]*world, s.draws)
	rates := l.drawRates(s.draws, s.Seed)
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(s.logName()), ".gz"), ".csv")
	_ = report.Parallel("", s.draws, func(draw int) error {
		worlds[draw] = l.world(name, rates[draw], rand.NewPCG(s.Seed, uint64(2*draw)))
		return nil
	})
	single := make([]*outcome, s.draws*(len(chosen)+1))
	err := report.Parallel("polling", len(single), func(i int) (err error) {
		w, draw := worlds[i%s.draws], i%s.draws
		if i < s.draws {
			single[i], err = l.replay(w)
			return err
		}
		single[i] = &outcome{policy: chosen[i/s.draws-1]}
		if err := l.crawl(w, single[i], by, s.Seed, uint64(2*draw+1), s.groups); err != nil {
			return fmt.Errorf("%s: %w", single[i].policy.name, err)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	var outcomes []*outcome
	for draws := range slices.Chunk(single, s.draws) {
		o := &outcome{policy: draws[0].policy, polls: draws[0].polls}
		for _, d := range draws {
			o.detected = append(o.detected, d.detected...)
			o.freshness = append(o.freshness, d.freshness...)
			o.age = append(o.age, d.age...)
			o.harmonic = append(o.harmonic, d.harmonic...)
			o.delay = append(o.delay, d.delay...)
		}
		outcomes = append(outcomes, o)
	}
	return worlds[0], outcomes, nil
}

// printLog prints what a crawler would have won.
func (s *settings) printLog(chosen []policy, by goal) error {
	l, err := s.openLog()
	if err != nil {
		return err
	}
	for _, note := range l.notes {
		fmt.Fprintf(s.Stderr, "recrawl: %s: note: %s\n", s.logName(), note)
	}
	if l.found() == 0 {
		return fmt.Errorf("%s: no poll found a change: there is nothing to compare", s.logName())
	}
	if err := s.Start(s.logTakes(l, chosen)); err != nil {
		return err
	}
	w, outcomes, err := s.dryRun(l, chosen, by)
	if err != nil {
		return err
	}
	v := judge(outcomes, by)
	if s.JSON {
		return report.WriteJSON(s.Stdout, s.logResult(l, w, outcomes, by, v))
	}
	fmt.Fprintf(s.Stdout, "%s\n%s\n\n", crawlText(w, outcomes[0]), v.text(by))
	header := []string{"policy", "detected", "±", "freshness", "±", "delay (days)", "±", "× yours"}
	var rows [][]string
	for _, o := range outcomes {
		row := []string{o.policy.name}
		for _, g := range goals {
			if g.name == "detections" || g.name == "freshness" || g.name == "delay" {
				m, sd := report.MeanSD(g.of(o))
				row = append(row, strconv.FormatFloat(m, 'f', g.digits, 64), spread(sd, s.draws, g.digits))
			}
		}
		rows = append(rows, append(row, fmt.Sprintf("%.3f", by.relative(o, outcomes[0]))))
	}
	if err := report.WriteTable(s.Stdout, header, rows); err != nil {
		return err
	}
	scatter := fmt.Sprintf("±: standard deviation over %d draws.", s.draws)
	if s.draws == 1 {
		scatter = "A single draw has no standard deviation."
	}
	_, err = fmt.Fprintf(s.Stdout, logText, scatter)
	return err
}

// logName is the name of the log in messages.
func (s *settings) logName() string {
	if s.log == "-" {
		return "standard input"
	}
	return s.log
}

// logTakes says how long the dry run takes.
func (s *settings) logTakes(l *crawlLog, chosen []policy) string {
	polls := float64(s.draws * l.repeats())
	seconds := polls / pace // of the log itself
	for _, p := range chosen {
		seconds += p.takes(polls)
	}
	cores := runtime.GOMAXPROCS(0)
	return fmt.Sprintf("about %s on %d cores (%s polls)", duration(seconds/float64(cores)), cores, count(polls*float64(len(chosen)+1)))
}

const logText = `
%s A log says between which polls a page changed, not
when, and not how often. Each draw gives each page a constant rate, by what its polls
found in the light of what those of all pages did, and picks times at this rate in the
gaps in which it changed. Policies poll at the times at which your crawler did, one of the
pages that it had then: a page begins with its first poll, which is its first copy and does
not count, and ends one of its mean gaps after its last poll, or with the log. Bursts of
changes between two polls leave no trace in a log: where pages have them, more would be won
than this says. Freshness is the share of time in which copies were current, delay the mean
time from a change to its discovery, and × yours how many times better than your crawler a
policy is by the -objective.
`

// crawlText says what the crawler of the log did.
func crawlText(w *world, own *outcome) string {
	found := int(own.detected[0])
	return fmt.Sprintf("Your crawler polled %s %s after the first poll of each, in %s, %s times an hour, and %d of these polls found a change (%.1f %%).",
		plural(w.pages, "page"), plural(w.polls, "time"), spanText(w.duration), report.Format(w.budget()), found, 100*float64(found)/float64(w.polls))
}

// plural says a number of things.
func plural(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// A verdict says which policy to take, and whether it is better than the crawler.
type verdict struct {
	own, best *outcome  // best is nil if all policies are told the truth
	times     float64   // how many times better it is than the crawler
	ratios    []float64 // the same for each draw
}

// worthwhile is the least gain that counts. A schedule scatters by nearly as much from one web to
// the next: of 24 logs of equal pages, where nothing is to be won, one seems to win 2.1 %
// (TestNothingIsWonOfEqualPages).
const worthwhile = 0.03

// judge compares the policies that a crawler could use. The best of several is the luckiest,
// too, and constant rates suit those that count on them: the library's own is named in place
// of another that is ahead of it by what is worthwhile, or by a standard deviation, at most.
func judge(outcomes []*outcome, by goal) verdict {
	v := verdict{own: outcomes[0]}
	var ours *outcome
	for _, o := range outcomes[1:] {
		switch {
		case o.policy.told:
			continue
		case v.best == nil || by.relative(o, v.best) > 1:
			v.best = o
		}
		if o.policy.ours && (ours == nil || by.relative(o, ours) > 1) {
			ours = o
		}
	}
	if v.best == nil {
		return v
	}
	if ours != nil {
		if _, sd := report.MeanSD(by.ratios(v.best, v.own)); !(by.relative(v.best, ours) > 1+max(worthwhile, sd)) {
			v.best = ours
		}
	}
	v.times = by.relative(v.best, v.own)
	v.ratios = by.ratios(v.best, v.own)
	return v
}

// chance returns how far from 0 the logarithm of the ratio may be by chance. Of pages that
// change at most polls the rates are bounded from below only, so that ratios scatter upwards.
func (v verdict) chance() float64 {
	var logs []float64
	for _, ratio := range v.ratios {
		logs = append(logs, math.Log(ratio))
	}
	_, sd := report.MeanSD(logs)
	return max(math.Log1p(worthwhile), 2*sd)
}

// ahead reports whether the best is better than the crawler by more than chance.
func (v verdict) ahead() bool { return math.Log(v.times) >= v.chance() }

// text says what the best policy would have done.
func (v verdict) text(by goal) string {
	if v.best == nil {
		return "No policy below could be used instead: all of them are told the truth."
	}
	name := v.best.policy.name
	_, sd := report.MeanSD(v.ratios)
	times := withSpread(v.times, sd, len(v.ratios), 3)
	switch {
	case math.Log(v.times) < -v.chance():
		return fmt.Sprintf("None of the policies below would have done as well: %s comes closest, with %s of your result.", name, times)
	case !(v.times >= 1+worthwhile):
		return fmt.Sprintf("There is nothing to be won: %s comes to %s of your result.", name, times)
	case !v.ahead():
		return fmt.Sprintf("Nothing is sure to be won: %s comes to %s of your result, but what is within two standard deviations may be chance.", name, times)
	}
	figure := func(o *outcome) string {
		m, sd := report.MeanSD(by.of(o))
		return withSpread(m, sd, len(by.of(o)), by.digits)
	}
	times = withSpread(v.times, sd, len(v.ratios), 2)
	text := fmt.Sprintf("With polls at the same times %s would have ", name)
	own, _ := report.MeanSD(by.of(v.own))
	yours := strconv.FormatFloat(own, 'f', by.digits, 64)
	switch by.name {
	case "detections":
		return text + fmt.Sprintf("found a change with %s of them: %s times as many.", figure(v.best), times)
	case "freshness":
		return text + fmt.Sprintf("kept copies current for %s of the time instead of %s: %s times less stale.", figure(v.best), yours, times)
	case "delay":
		return text + fmt.Sprintf("found each change after %s days in the mean instead of %s: %s times sooner.", figure(v.best), yours, times)
	default:
		return text + fmt.Sprintf("come to a mean %s of %s instead of %s: %s times better.", by.name, figure(v.best), yours, times)
	}
}

// withSpread says a mean, and the standard deviation if there is one.
func withSpread(mean, sd float64, runs, digits int) string {
	text := strconv.FormatFloat(mean, 'f', digits, 64)
	if s := spread(sd, runs, digits); s != "" {
		text += " ± " + s
	}
	return text
}

// A logResult is what -json prints of a log.
type logResult struct {
	result
	Best       string   `json:"best"`
	Times      float64  `json:"best_times_yours"`
	SD         *float64 `json:"best_times_yours_sd"`
	Ahead      bool     `json:"better_than_chance"`
	Conclusion string   `json:"conclusion"`
	Notes      []string `json:"notes"`
}

func (s *settings) logResult(l *crawlLog, w *world, outcomes []*outcome, by goal, v verdict) logResult {
	r := logResult{result: summary(w, outcomes, by, s), Ahead: v.ahead(), Conclusion: v.text(by), Notes: append([]string{}, l.notes...)}
	if v.best != nil {
		r.Best, r.Times = v.best.policy.name, v.times
	}
	if _, sd := report.MeanSD(v.ratios); len(v.ratios) > 1 {
		r.SD = &sd
	}
	for k, o := range outcomes {
		times := by.relative(o, outcomes[0])
		r.Policies[k].Times = &times
	}
	return r
}
