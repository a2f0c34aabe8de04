package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/webenv"
)

// logPolicies are tried on a log unless others are named.
const logPolicies = "uniform,nutch,stormcrawler,newscrawl,miniflux,cho,gamma,discounted,rate-filter,rate-filter+groups"

// ownPolicy stands for the crawler that wrote the log.
var ownPolicy = policy{name: "your crawler"}

// openLog reads the log that the flags name.
func (s *settings) openLog() (*crawlLog, error) {
	if s.log == "-" {
		return readLog(s.stdin, "standard input")
	}
	f, err := os.Open(s.log)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	return readLog(f, s.log)
}

// span returns the times of the first and the last poll.
func (l *crawlLog) span() (first, last float64) {
	first, last = math.Inf(1), math.Inf(-1)
	for _, polls := range l.polls {
		first, last = min(first, polls[0].time), max(last, polls[len(polls)-1].time)
	}
	return first, last
}

// repeats returns the number of polls but for the first of each page.
func (l *crawlLog) repeats() (n int) {
	for _, polls := range l.polls {
		n += len(polls) - 1
	}
	return n
}

// world returns a web on which the log could have been written, with its budget. The log
// says only between which polls a page changed, not when, and not how often. A page is
// taken to change at a constant rate, the bias-reduced estimate of Cho and Garcia-Molina
// (2003), under the condition of what its polls found. After its last poll it goes on at
// that rate; before its first it is taken not to change.
func (l *crawlLog) world(name string, src rand.Source) (*world, error) {
	rng := rand.New(src)
	first, last := l.span()
	h := &webenv.History{Names: l.urls, Times: make([][]float64, len(l.polls))}
	for page, polls := range l.polls {
		rate := rateOf(polls)
		var times []float64
		spread := func(changes int, from, to float64) {
			for range changes {
				times = append(times, to-(to-from)*rng.Float64())
			}
		}
		for k, p := range polls[1:] {
			if p.changed {
				spread(atLeastOne(rate*(p.time-polls[k].time), rng), polls[k].time, p.time)
			}
		}
		end := polls[len(polls)-1].time
		spread(poisson(rate*(last-end), rng), end, last)
		slices.Sort(times)
		h.Times[page] = slices.Compact(times)
	}
	w := &world{name: name, pages: h.Len(), start: first, duration: last - first, history: h, polls: l.repeats()}
	w.rate = float64(w.polls) / w.duration
	return w.from(first), nil
}

// rateOf estimates the change rate of a page from its polls.
func rateOf(polls []logged) float64 {
	n, changed := float64(len(polls)-1), 0.0
	for _, p := range polls[1:] {
		if p.changed {
			changed++
		}
	}
	return -math.Log((n-changed+0.5)/(n+0.5)) * n / (polls[len(polls)-1].time - polls[0].time)
}

// mostBetween and mostAfter bound the mean number of changes between two polls, and after
// the last. No policy could make much of more.
const mostBetween, mostAfter = 50, 10_000

// poisson draws from the Poisson law, by inversion, in parts that do not underflow.
func poisson(mean float64, rng *rand.Rand) (n int) {
	for mean = min(mean, mostAfter); mean > 0; mean -= mostBetween {
		part := min(mean, mostBetween)
		n += inverted(part, 0, math.Exp(-part), rng)
	}
	return n
}

// atLeastOne draws from the Poisson law under the condition that it is not 0.
func atLeastOne(mean float64, rng *rand.Rand) int {
	if mean = min(mean, mostBetween); mean <= 0 {
		return 1
	}
	return inverted(mean, 1, mean/math.Expm1(mean), rng)
}

// inverted inverts a distribution function from k on, where its first step is p and the
// next are those of a Poisson law.
func inverted(mean float64, k int, p float64, rng *rand.Rand) int {
	for u := rng.Float64() - p; u >= 0 && k < 10*mostBetween; u -= p {
		k++
		p *= mean / float64(k)
	}
	return k
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

// dryRun lets each policy poll what the log may have been written on, once for each draw,
// and returns the outcomes, that of the crawler of the log first.
func (s *settings) dryRun(l *crawlLog, chosen []policy, by goal) (*world, []*outcome, error) {
	worlds := make([]*world, s.draws)
	name := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(s.log), ".gz"), ".csv")
	for draw := range worlds {
		var err error
		if worlds[draw], err = l.world(name, rand.NewPCG(s.Seed, uint64(draw))); err != nil {
			return nil, nil, err
		}
	}
	single := make([]*outcome, s.draws*(len(chosen)+1))
	err := report.Parallel("polling", len(single), func(i int) (err error) {
		w, run := worlds[i%s.draws], i%s.draws
		if i < s.draws {
			single[i], err = l.replay(w)
			return err
		}
		e := &experiment{world: w, goal: by, seed: s.Seed, groups: s.groups}
		single[i] = &outcome{policy: chosen[i/s.draws-1]}
		return e.run(single[i], run, 1, func(float64) {})
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
		fmt.Fprintf(s.Stderr, "recrawl: %s: note: %s\n", s.log, note)
	}
	polls := float64(s.draws * (len(chosen) + 1) * l.repeats())
	cores := runtime.GOMAXPROCS(0)
	if err := s.Start(fmt.Sprintf("about %s on %d cores (%s polls)", duration(polls/pace/float64(cores)), cores, count(polls))); err != nil {
		return err
	}
	w, outcomes, err := s.dryRun(l, chosen, by)
	if err != nil {
		return err
	}
	if s.JSON {
		return report.WriteJSON(s.Stdout, summary(w, outcomes, by, s))
	}
	fmt.Fprintf(s.Stdout, "%s\n\n", sentences(w, outcomes, by))
	header := []string{"policy", "detected", "±", "freshness", "±", "delay (days)", "±", "× yours"}
	var rows [][]string
	for _, o := range outcomes {
		row := []string{o.policy.name}
		for _, g := range goals {
			if g.name == "detections" || g.name == "freshness" || g.name == "delay" {
				m, sd := report.MeanSD(g.of(o))
				row = append(row, strconv.FormatFloat(m, 'f', g.digits, 64), strconv.FormatFloat(sd, 'f', g.digits, 64))
			}
		}
		rows = append(rows, append(row, fmt.Sprintf("%.3f", by.relative(o, outcomes[0]))))
	}
	if err := report.WriteTable(s.Stdout, header, rows); err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.Stdout, logText, s.draws)
	return err
}

const logText = `
±: standard deviation over %d draws. A log says between which polls a page changed, not
when, and not how often: each draw picks times in these gaps, at the page's own rate, and
goes on at this rate after the page's last poll. Bursts of changes between two polls leave
no trace in a log: where pages have them, more would be won than this says. Freshness is
the share of time in which copies were current, delay the mean time from a change to its
discovery, and × yours how many times better than your crawler a policy is by the
-objective.
`

// sentences say what the crawler did, and what the best policy would have done.
func sentences(w *world, outcomes []*outcome, by goal) string {
	own := outcomes[0]
	found, _ := report.MeanSD(own.detected)
	text := fmt.Sprintf("Your crawler polled %d pages %d times in %s, %s times an hour, and %.0f of these polls found a change (%.1f %%).",
		w.pages, w.polls, spanText(w.duration), report.Format(w.budget()), found, 100*found/float64(w.polls))
	var best *outcome
	for _, o := range outcomes[1:] {
		if !o.policy.told && (best == nil || by.relative(o, best) > 1) {
			best = o
		}
	}
	if best == nil {
		return text
	}
	m, sd := report.MeanSD(by.of(best))
	yours, _ := report.MeanSD(by.of(own))
	times := by.relative(best, own)
	if !(times > 1) {
		return text + fmt.Sprintf("\nNone of the policies below would have done better; %s comes closest, with %.3f of your result.", best.policy.name, times)
	}
	figure := func(v float64) string { return strconv.FormatFloat(v, 'f', by.digits, 64) }
	text += fmt.Sprintf("\nWith as many polls %s would have ", best.policy.name)
	switch by.name {
	case "detections":
		return text + fmt.Sprintf("found a change with %s ± %s of them: %.2f times as many.", figure(m), figure(sd), times)
	case "freshness":
		return text + fmt.Sprintf("kept copies current for %s ± %s of the time instead of %s: %.2f times less stale.", figure(m), figure(sd), figure(yours), times)
	case "delay":
		return text + fmt.Sprintf("found each change after %s ± %s days in the mean instead of %s: %.2f times sooner.", figure(m), figure(sd), figure(yours), times)
	default:
		return text + fmt.Sprintf("come to a mean %s of %s ± %s instead of %s: %.2f times better.", by.name, figure(m), figure(sd), figure(yours), times)
	}
}
