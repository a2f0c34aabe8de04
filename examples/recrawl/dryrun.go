package main

import (
	"cmp"
	"errors"
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
	"sync"
	"sync/atomic"

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
		if errors.Is(err, knapsack.ErrNoPage) {
			continue // the policy thinks that none of these pages ever changes: this poll finds nothing
		}
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

// A reading of a log says how often pages change of which the log does not say it.
type reading struct {
	about    string
	world    *world     // that of one draw
	outcomes []*outcome // of the crawler, and of all policies
}

// dryRun lets each policy poll what the log may have been written on, once for each draw of the
// rates. Where there is doubt it does so again with what the log proves at least.
func (s *settings) dryRun(l *crawlLog, drawn [][]float64, d doubt, chosen []policy, by goal) (readings []reading, err error) {
	for _, least := range d.readings() {
		about := "With as many changes as other pages and random times suggest:"
		if least != nil {
			about = "With one change between two polls that show it, where there is doubt:"
		}
		w, outcomes, err := s.dryRunOf(l, drawn, least, chosen, by)
		if err != nil {
			return nil, err
		}
		readings = append(readings, reading{about, w, outcomes})
	}
	return readings, nil
}

// dryRunOf makes the dry run of one reading.
func (s *settings) dryRunOf(l *crawlLog, drawn [][]float64, least []bool, chosen []policy, by goal) (*world, []*outcome, error) {
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(s.logName()), ".gz"), ".csv")
	type drawing struct {
		world func() *world
		left  atomic.Int64 // policies that are to poll it
	}
	worlds, all := make([]drawing, s.draws), len(chosen)+1
	for draw := range worlds {
		worlds[draw].left.Store(int64(all))
		worlds[draw].world = sync.OnceValue(func() *world {
			return l.world(name, l.proven(drawn[draw], least), least, rand.NewPCG(s.Seed, uint64(2*draw)))
		})
	}
	var about world // of the first draw, without its changes
	single := make([]*outcome, s.draws*all)
	// One draw after the other, each of which is let go then: all changes of all draws may take much memory.
	err := report.Parallel("polling", len(single), func(i int) (err error) {
		draw, k := i/all, i%all
		d, o := &worlds[draw], &single[k*s.draws+draw]
		w := d.world()
		defer func() {
			if d.left.Add(-1) == 0 {
				d.world = nil
			}
		}()
		if k == 0 {
			if draw == 0 {
				about = *w
				about.history, about.open = nil, nil
			}
			*o, err = l.replay(w)
			return err
		}
		*o = &outcome{policy: chosen[k-1]}
		if err := l.crawl(w, *o, by, s.Seed, uint64(2*draw+1), s.groups); err != nil {
			return fmt.Errorf("%s: %w", (*o).policy.name, err)
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
	return &about, outcomes, nil
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
	switch found := l.found(); {
	case found == 0:
		return fmt.Errorf("%s: no poll found a change: there is nothing to compare", s.logName())
	case found >= fewest && found == l.repeats():
		return fmt.Errorf("%s: all %d polls after the first of each page found a change: the log seems to leave out polls that found none, and without them nothing can be said", s.logName(), found)
	}
	drawn := l.drawRates(s.draws, s.Seed)
	d := l.doubt(drawn)
	if err := s.Start(s.logTakes(l, chosen, len(d.readings()))); err != nil {
		return err
	}
	readings, err := s.dryRun(l, drawn, d, chosen, by)
	if err != nil {
		return err
	}
	v := judge(readings, by)
	v.few, v.bursty = l.found() < fewest, d.bursty
	if s.JSON {
		return report.WriteJSON(s.Stdout, s.logResult(l, d, readings, by, v))
	}
	fmt.Fprintf(s.Stdout, "%s\n%s%s\n", crawlText(readings[0].world, readings[0].outcomes[0]), d.text(), v.text(by))
	for _, r := range readings {
		fmt.Fprintln(s.Stdout)
		if len(readings) > 1 {
			fmt.Fprintf(s.Stdout, "%s\n\n", r.about)
		}
		if err := s.printOutcomes(r.outcomes, by); err != nil {
			return err
		}
	}
	scatter := fmt.Sprintf("±: standard deviation over %d draws.", s.draws)
	if s.draws == 1 {
		scatter = "A single draw has no standard deviation."
	}
	_, err = fmt.Fprintf(s.Stdout, logText, scatter)
	return err
}

// printOutcomes prints the table of a reading, that of the crawler first.
func (s *settings) printOutcomes(outcomes []*outcome, by goal) error {
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
	return report.WriteTable(s.Stdout, header, rows)
}

// logName is the name of the log in messages.
func (s *settings) logName() string {
	if s.log == "-" {
		return "standard input"
	}
	return s.log
}

// logTakes says how long the dry run takes.
func (s *settings) logTakes(l *crawlLog, chosen []policy, readings int) string {
	polls := float64(readings * s.draws * l.repeats())
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
by detections than this says, and by freshness perhaps less. Freshness is the share of time
in which copies were current, delay the mean time from a change to its discovery, and
× yours how many times better than your crawler a policy is by the -objective.
`

// crawlText says what the crawler of the log did.
func crawlText(w *world, own *outcome) string {
	found, rate := int(own.detected[0]), report.Format(w.budget())+" times"
	if rate == "1 times" {
		rate = "once"
	}
	return fmt.Sprintf("Your crawler polled %s %s after the first poll of each, in %s, %s an hour, and %d of these polls found a change (%.1f %%).",
		report.Count(w.pages, "page"), report.Count(w.polls, "time"), spanText(w.duration), rate, found, 100*float64(found)/float64(w.polls))
}

// A verdict says which policy to take, and whether it is better than the crawler, by the reading
// of the log that is the worse for it.
type verdict struct {
	own, best *outcome  // best is nil if all policies are told the truth
	times     float64   // how many times better it is than the crawler
	ratios    []float64 // the same for each draw
	other     *verdict  // the same policy by the better reading, nil if there is only one
	few       bool      // the log is too small to say anything
	bursty    bool      // changes come in bursts, or rates change
}

// worthwhile is the least gain that counts. A schedule scatters by nearly as much from one web to
// the next: of 24 logs of equal pages, where nothing is to be won, one seems to win 2.1 %
// (TestNothingIsWonOfEqualPages).
const worthwhile = 0.03

// fewest is how many polls must have found a change. Of 20 the number itself scatters by 22 %, and
// a verdict of fewer is one on luck.
const fewest = 20

// judge compares the policies that a crawler could use, each by the reading that is the worse for
// it. The best of several is the luckiest, too, and constant rates suit those that count on
// them: the library's own is named in place of another that is ahead of it by what is worthwhile,
// or by a standard deviation, at most. Where the best is no win, one is named that is a win by its
// better reading, if there is one, and the library's own before others, or else the library's own if
// it seems one: a policy that does what the crawler did is the best by the worse reading, and hides
// what may be won.
func judge(readings []reading, by goal) verdict {
	var all []*verdict // the best by the worse reading first, and the first of equals
	for k, o := range readings[0].outcomes[1:] {
		if !o.policy.told {
			all = append(all, worse(readings, k+1, by))
		}
	}
	if len(all) == 0 {
		return verdict{own: readings[0].outcomes[0]}
	}
	slices.SortStableFunc(all, func(v, w *verdict) int { return cmp.Compare(w.times, v.times) })
	best := all[0]
	ours := func(v *verdict) bool { return v.best.policy.ours }
	if k := slices.IndexFunc(all, ours); k >= 0 {
		if _, sd := report.MeanSD(best.ratios); !(best.times/all[k].times > 1+max(worthwhile, sd)) {
			best = all[k]
		}
	}
	if best.ahead() {
		return *best
	}
	for _, may := range []func(*verdict) bool{
		func(v *verdict) bool { return v.other != nil && v.other.ahead() && ours(v) },
		func(v *verdict) bool { return v.other != nil && v.other.ahead() },
		func(v *verdict) bool { return v.other != nil && v.other.times >= 1+worthwhile && ours(v) },
	} {
		if k := slices.IndexFunc(all, may); k >= 0 {
			return *all[k]
		}
	}
	return *best
}

// worse compares one policy with the crawler by the reading that is the worse for it.
func worse(readings []reading, k int, by goal) (v *verdict) {
	for _, r := range readings {
		o, own := r.outcomes[k], r.outcomes[0]
		next := &verdict{own: own, best: o, times: by.relative(o, own), ratios: by.ratios(o, own)}
		if v != nil && v.times <= next.times {
			v.other = next
			continue
		}
		next.other, v = v, next
	}
	return v
}

// beyond returns how many standard deviations of so many draws another draw exceeds their mean by
// once in 44 times. That is 2 for many draws, and more for few, which tell neither mean nor standard
// deviation well: Student's t for the share of 0.0455, as beyond −2 and 2 of a normal law, times
// √(1 + 1/draws). Of one draw there is no such number.
func beyond(draws int) float64 {
	t := math.Inf(1)
	switch few, n := [...]float64{13.968, 4.527, 3.307, 2.869}, draws-1; {
	case n > len(few):
		m := float64(n)
		t = 2 + 2.55/m + 3.2/(m*m) // to 0.015
	case n > 0:
		t = few[n-1]
	}
	return t * math.Sqrt(1+1/float64(draws))
}

// chance returns how far from 0 the logarithm of the ratio may be by chance. Of pages that
// change at most polls the rates are bounded from below only, so that ratios scatter upwards.
func (v verdict) chance() float64 {
	if len(v.ratios) < 2 {
		return math.Inf(1)
	}
	var logs []float64
	for _, ratio := range v.ratios {
		logs = append(logs, math.Log(ratio))
	}
	_, sd := report.MeanSD(logs)
	return max(math.Log1p(worthwhile), beyond(len(logs))*sd)
}

// ahead reports whether the best is better than the crawler by more than chance.
func (v verdict) ahead() bool { return !v.few && math.Log(v.times) >= v.chance() }

// said says how many times better the policy is, by both readings if they differ.
func (v verdict) said(digits int) string {
	_, sd := report.MeanSD(v.ratios)
	text := withSpread(v.times, sd, len(v.ratios), digits)
	if v.other != nil {
		if other := v.other.said(digits); other != text {
			text += " to " + other
		}
	}
	return text
}

// text says what the best policy would have done.
func (v verdict) text(by goal) string {
	if v.best == nil {
		return "No policy below could be used instead: all of them are told the truth."
	}
	name := v.best.policy.name
	better := v
	if v.other != nil {
		better = *v.other
	}
	switch {
	case v.few:
		return fmt.Sprintf("The log is too small to say what is to be won: %d polls at least must have found a change. What follows is luck.", fewest)
	case len(v.ratios) < 2 && math.Abs(math.Log(better.times)) >= math.Log1p(worthwhile):
		return fmt.Sprintf("Nothing is sure to be won: %s comes to %s of your result, but a single draw may be chance.", name, v.said(3))
	case v.bursty && !v.ahead():
		return fmt.Sprintf("Nothing is sure to be won: %s comes to %s of your result where rates are constant, which they are not here.", name, v.said(3))
	case math.Log(better.times) < -better.chance():
		return fmt.Sprintf("None of the policies below would have done as well: %s comes closest, with %s of your result.", name, v.said(3))
	case !(better.times >= 1+worthwhile):
		return fmt.Sprintf("There is nothing to be won: %s comes to %s of your result.", name, v.said(3))
	case !v.ahead() && better.ahead():
		return fmt.Sprintf("Nothing is sure to be won: %s comes to %s of your result, by how often pages really change, which is not in the log.", name, v.said(3))
	case !v.ahead():
		return fmt.Sprintf("Nothing is sure to be won: %s comes to %s of your result, but that may be chance, as the draws differ by so much.", name, v.said(3))
	}
	figure := func(o *outcome) string {
		m, sd := report.MeanSD(by.of(o))
		text := withSpread(m, sd, len(by.of(o)), by.digits)
		if v.other != nil {
			m, sd = report.MeanSD(by.of(v.other.best))
			text += " or " + withSpread(m, sd, len(by.of(o)), by.digits)
		}
		return text
	}
	times := v.said(2)
	text := fmt.Sprintf("With polls at the same times %s would have ", name)
	yours := v.yours(by)
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

// yours says what the crawler came to, by both readings if there are two.
func (v verdict) yours(by goal) string {
	own, _ := report.MeanSD(by.of(v.own))
	text := strconv.FormatFloat(own, 'f', by.digits, 64)
	if v.other != nil {
		text += " or " + v.other.yours(by)
	}
	return text
}

// withSpread says a mean, and the standard deviation if there is one.
func withSpread(mean, sd float64, runs, digits int) string {
	text := strconv.FormatFloat(mean, 'f', digits, 64)
	if s := spread(sd, runs, digits); s != "" {
		text += " ± " + s
	}
	return text
}

// A logResult is what -json prints of a log. The last fields are those of a log that leaves doubt:
// best_times_yours is by the worse reading then, and policies are as ever, with as many changes as
// other pages suggest.
type logResult struct {
	result
	Best       string         `json:"best"`
	Times      float64        `json:"best_times_yours"`
	SD         *float64       `json:"best_times_yours_sd"`
	Ahead      bool           `json:"better_than_chance"`
	Conclusion string         `json:"conclusion"`
	Notes      []string       `json:"notes"`
	Doubt      string         `json:"doubt,omitempty"`
	Often      int            `json:"pages_changed_at_nearly_every_poll,omitempty"`
	Calendar   int            `json:"pages_changed_by_calendar,omitempty"`
	Regular    bool           `json:"regular,omitempty"`
	Bursty     bool           `json:"bursty,omitempty"`
	Most       *float64       `json:"best_times_yours_at_most,omitempty"`
	Least      []policyResult `json:"policies_at_least_changes,omitempty"`
}

func (s *settings) logResult(l *crawlLog, d doubt, readings []reading, by goal, v verdict) logResult {
	r := logResult{
		result: s.logSummary(readings[0], by), Ahead: v.ahead(), Conclusion: v.text(by), Notes: append([]string{}, l.notes...),
		Doubt: strings.TrimSpace(d.text()), Often: d.often, Calendar: d.calendar, Regular: d.regular, Bursty: d.bursty,
	}
	if v.best != nil {
		r.Best, r.Times = v.best.policy.name, v.times
	}
	if _, sd := report.MeanSD(v.ratios); len(v.ratios) > 1 {
		r.SD = &sd
	}
	if v.other != nil {
		r.Most = &v.other.times
	}
	if len(readings) > 1 {
		r.Least = s.logSummary(readings[1], by).Policies
	}
	return r
}

// logSummary returns what -json prints of a reading.
func (s *settings) logSummary(read reading, by goal) result {
	r := summary(read.world, read.outcomes, by, s)
	for k, o := range read.outcomes {
		times := by.relative(o, read.outcomes[0])
		r.Policies[k].Times = &times
	}
	return r
}
