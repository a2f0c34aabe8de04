package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/webenv"
)

// What is drawn is what the log says: changes in every gap at whose end one was found and in
// no other, none before the first poll, and after the last one for a mean gap at most. So
// the crawler of the log finds what it found.
func TestDrawnWorldsFitTheLog(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := &crawlLog{}
		found := 0.0
		for page := range rapid.IntRange(1, 5).Draw(t, "pages") {
			l.urls = append(l.urls, fmt.Sprint(page))
			at := float64(rapid.IntRange(1.6e9, 1.61e9).Draw(t, "first"))
			polls := []logged{{at, true}} // the first copy
			for range rapid.IntRange(1, 8).Draw(t, "polls") {
				at += float64(rapid.IntRange(1, 1e6).Draw(t, "gap"))
				polls = append(polls, logged{at, rapid.Bool().Draw(t, "changed")})
				if polls[len(polls)-1].changed {
					found++
				}
			}
			l.polls = append(l.polls, polls)
		}
		seed := rapid.Uint64().Draw(t, "seed")
		var least []bool // nil, or some pages
		if rapid.Bool().Draw(t, "doubt") {
			least = rapid.SliceOfN(rapid.Bool(), len(l.polls), len(l.polls)).Draw(t, "least")
		}
		w := l.world("web", l.proven(l.drawRates(1, seed)[0], least), least, rand.NewPCG(seed, 0))
		first, last := l.span()
		require.Equal(t, first, w.start)
		require.InDelta(t, last, w.start+w.duration, 1e-6)
		for page, polls := range l.polls {
			times := w.history.Times[page]
			for k, p := range polls[1:] {
				n := 0
				for _, at := range times {
					if at > polls[k].time && at <= p.time {
						n++
					}
				}
				require.Equal(t, p.changed, n > 0)
				require.False(t, least != nil && least[page] && n > 1)
			}
			from, to := polls[0].time, polls[len(polls)-1].time
			end := min(last, to+(to-from)/float64(len(polls)-1))
			require.Equal(t, life{from, end}, w.lives[page])
			if len(times) > 0 {
				require.Greater(t, times[0], from)
				require.LessOrEqual(t, times[len(times)-1], end)
			}
		}
		own, err := l.replay(w)
		require.NoError(t, err)
		require.Equal(t, []float64{found}, own.detected)
	})
}

// The account of the log's own polls, by hand: a page changes at 10, 20 and 70, and is
// polled at 30, 40 and 60 of 0 to 100.
func TestReplayByHand(t *testing.T) {
	t.Parallel()
	h := &webenv.History{Times: [][]float64{{10, 20, 70}, {100}}}
	w := (&world{pages: 2, start: 0, duration: 100, history: h, polls: 4}).from(0)
	l := &crawlLog{polls: [][]logged{{{0, false}, {30, true}, {40, false}, {60, false}}, {{0, false}, {100, true}}}}
	o, err := l.replay(w)
	require.NoError(t, err)
	require.Equal(t, []float64{2}, o.detected)
	require.InDelta(t, 1-(20+30)/200., o.freshness[0], 1e-12)
	require.InDelta(t, (20*20+30*30)/2/200./day, o.age[0], 1e-12)
	require.InDelta(t, (20+10+30+0)/4./day, o.delay[0], 1e-12)
}

// Draws have the means of their laws, to four standard deviations.
func TestCountLaws(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	const draws = 20_000
	for _, m := range []float64{1e-9, 0.1, 1, 7} {
		count, conditional := 0.0, 0.0
		for range draws {
			count += float64(poisson(m, rng))
			n := atLeastOne(m, rng)
			require.Positive(t, n)
			conditional += float64(n)
		}
		sd := math.Sqrt(m / draws)
		require.InDelta(t, m, count/draws, 4*sd)
		require.InDelta(t, m/-math.Expm1(-m), conditional/draws, 4*sd+1e-9)
	}
	require.Equal(t, 1, atLeastOne(0, rng))
	require.Zero(t, poisson(0, rng))
	require.InDelta(t, mostBetween, poisson(1e300, rng), 4*math.Sqrt(mostBetween))
}

// writeLog polls the pages of a simulated web in turn, and writes down what a crawler would.
func writeLog(t *testing.T, spec string, pages int, duration, perHour float64) (w *world, path string) {
	t.Helper()
	web, err := simulation(spec, pages)
	require.NoError(t, err)
	w, err = web.recorded(duration, hour, rand.NewPCG(5, 0))
	require.NoError(t, err)
	require.NoError(t, w.budgeted(perHour, 0))
	env, err := w.open(nil)
	require.NoError(t, err)
	scheduler, err := uniform(w.job(env, 0, nil))
	require.NoError(t, err)
	text := strings.Builder{}
	text.WriteString("changed,time,url\n")
	line := func(page int, now float64, changed bool) {
		fmt.Fprintf(&text, "%t,%.0f,\"http://web.test/a,b?page=%d\"\n", changed, 1000*(1.7e9+now), page)
	}
	for page := range w.pages {
		line(page, w.start, false)
	}
	_, err = webenv.Run(env, scheduler, webenv.RunConfig{Start: w.start, Rate: w.rate, Duration: w.duration,
		OnPoll: func(p webenv.Poll) { line(p.Page, p.Time, p.Changed) }})
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), "polls.csv")
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
	return w, path
}

// Where pages change at constant rates, what the log says that a policy would have found is
// what it does find on the web on which the log was written: the change rates are
// estimated, which is worth some per cent.
func TestDryRunIsRight(t *testing.T) {
	t.Parallel()
	w, path := writeLog(t, "poisson:0.05,1", 200, 300*day, 1)

	const names = "uniform,true-proportional,rate-filter"
	dry := runJSON(t, "-log", path, "-policies", names, "-draws", "3")
	chosen, err := choose(names)
	require.NoError(t, err)
	truth, err := (&experiment{world: w, goal: goals[0], runs: 1}).compare(chosen)
	require.NoError(t, err)
	require.Equal(t, "your crawler", dry.Policies[0].Name)
	require.Equal(t, truth[0].detected[0], dry.Policies[0].Detected)
	require.InEpsilon(t, 1-truth[0].freshness[0], 1-dry.Policies[0].Freshness, 0.05)
	for k, o := range truth {
		require.InEpsilon(t, o.detected[0], dry.Policies[k+1].Detected, 0.1, o.policy.name)
		require.Equal(t, 3, dry.Policies[k+1].Runs)
	}
}

func TestDryRunText(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	_, path := writeLog(t, "poisson:0.1", 40, 400*day, 0.3)
	for objective, want := range map[string]string{
		"detections": "times as many", "freshness": "times less stale", "delay": "times sooner", "age": "times better",
	} {
		var out, messages bytes.Buffer
		require.NoError(t, run([]string{"-log", path, "-objective", objective, "-draws", "8", "-policies", "nutch,rate-filter,true-rates"}, &out, &messages))
		require.Contains(t, out.String(), "Your crawler polled 40 pages 2880 times after the first poll of each, in 400 days, 0.3 times an hour")
		require.Contains(t, out.String(), want)
		require.NotContains(t, strings.Split(out.String(), "\n")[1], "true-rates")
		require.Contains(t, messages.String(), "this takes about")
	}

	text, err := os.ReadFile(path)
	require.NoError(t, err)
	s, err := parse([]string{"-log", "-", "-json", "-draws", "2"}, io.Discard, io.Discard)
	require.NoError(t, err)
	var out bytes.Buffer
	s.stdin, s.Stdout = bytes.NewReader(text), &out
	chosen, err := choose("uniform")
	require.NoError(t, err)
	require.NoError(t, s.printLog(chosen, goals[0]))
	var r logResult
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	require.Equal(t, "standard input", r.Trace)
	require.Equal(t, 2880, r.Polls)
	require.Len(t, r.Policies, 2)
	require.Equal(t, 1.0, *r.Policies[0].Times)
	require.InDelta(t, 1, *r.Policies[1].Times, 0.01)
	require.Equal(t, r.Times, *r.Policies[1].Times)
	require.Equal(t, "uniform", r.Best)
	require.False(t, r.Ahead)
	require.Contains(t, r.Conclusion, "There is nothing to be won: uniform comes to 1.0")
	require.Contains(t, out.String(), `"notes": []`)
}

func TestDryRunOfQuietPages(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "quiet.csv")
	require.NoError(t, os.WriteFile(path, []byte("url,time,changed\na,1700000000,1\na,1700090000,0\n"), 0o600))
	err := run([]string{"-log", path}, io.Discard, io.Discard)
	require.EqualError(t, err, path+": no poll found a change: there is nothing to compare")
	require.ErrorContains(t, run([]string{"-log", filepath.Dir(path)}, io.Discard, io.Discard), "is a folder")
	require.ErrorContains(t, run([]string{"-trace", path}, io.Discard, io.Discard), "it is a log of polls, which -log reads")
	for _, text := range []string{"\xff\xfea\x00,\x001\x00\n\x00", "\xfe\xff\x00a\x00,\x001\x00\n", "a\x00,\x001\x00\n\x00"} {
		path := filepath.Join(t.TempDir(), "utf16.csv")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		require.ErrorContains(t, run([]string{"-trace", path}, io.Discard, io.Discard), "is it UTF-16? It must be UTF-8")
	}
	require.NoError(t, os.WriteFile(path, []byte("PK\x03\x04\x14\x00\x06\x00\b,\x00"), 0o600))
	require.ErrorContains(t, run([]string{"-trace", path}, io.Discard, io.Discard), "is it a workbook, or a zip archive? It must be CSV")
}

// A log of which every poll found a change leaves out the others, and is refused. Few polls may all
// find changes by luck.
func TestDryRunOfOnlyChanges(t *testing.T) {
	t.Parallel()
	for polls, refused := range map[int]bool{fewest - 1: false, fewest: true} {
		text := "url,time,changed\n"
		for k := range polls + 1 {
			text += fmt.Sprintf("a,%d,%d\n", 1700000000+5000*k*k, min(k, 1))
		}
		path := filepath.Join(t.TempDir(), "changes.csv")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		err := run([]string{"-log", path, "-draws", "1", "-policies", "uniform"}, io.Discard, io.Discard)
		if !refused {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, path+": all 20 polls after the first of each page found a change: the log seems to leave out polls that found none, and without them nothing can be said")
	}
	require.Contains(t, logFormat, "polls that found no change must be in the log")
}

// A policy may have no page to poll: the only page that ever changed is gone, and the estimator
// polls no other. It lets these polls pass.
func TestDryRunWithoutAPageToPoll(t *testing.T) {
	t.Parallel()
	text := "url,time,changed\n"
	for k := range 100 {
		if k < 40 {
			text += fmt.Sprintf("a,%d,%d\n", 1700000000+5000*k, k%2)
		}
		text += fmt.Sprintf("b,%d,0\n", 1700001000+5000*k)
	}
	path := filepath.Join(t.TempDir(), "gone.csv")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	var out bytes.Buffer
	require.NoError(t, run([]string{"-log", path, "-draws", "1", "-policies", "estimator"}, &out, io.Discard))
	require.Regexp(t, `estimator +\d+ `, out.String())
}

// A single draw has no standard deviation.
func TestDryRunOfOneDraw(t *testing.T) {
	t.Parallel()
	_, path := writeLog(t, "poisson:0.1", 40, 100*day, 0.3)
	var out bytes.Buffer
	require.NoError(t, run([]string{"-log", path, "-draws", "1", "-policies", "uniform"}, &out, io.Discard))
	require.Regexp(t, `There is nothing to be won: uniform comes to [01]\.\d+ of your result\.`, out.String())
	require.Regexp(t, `uniform +\d+ +0\.\d+ +\d+\.\d+ +[01]\.\d+\n`, out.String())
	require.Contains(t, out.String(), "A single draw has no standard deviation.")
}

// Outcomes that are equal are as good as each other, also where nothing was ever stale.
func TestBetter(t *testing.T) {
	t.Parallel()
	for _, g := range goals {
		for _, x := range []float64{0, 0.5, 1} {
			if x == 0 && g.name == "detections" {
				require.True(t, math.IsNaN(g.better(x, x)))
				continue
			}
			require.EqualValues(t, 1, g.better(x, x), "%s %v", g.name, x)
		}
		a, b := 0.8, 0.4 // the greater one is better
		if g.name != "detections" && g.name != "freshness" {
			a, b = b, a
		}
		require.Greater(t, g.better(a, b), 1.9, g.name)
		require.Less(t, g.better(b, a), 1/1.9, g.name)
	}
}

// What the verdict names, and whether it is better than chance. Each outcome has the
// detections of two draws or three.
func TestJudge(t *testing.T) {
	t.Parallel()
	of := func(name string, detected ...float64) *outcome {
		chosen, err := choose(name)
		require.NoError(t, err)
		return &outcome{policy: chosen[0], detected: detected}
	}
	own := &outcome{policy: ownPolicy, detected: []float64{100, 100, 100}}
	told := of("true-rates", 200, 200)
	for _, c := range []struct {
		outcomes []*outcome
		text     string
	}{
		{[]*outcome{told}, "all of them are told the truth"},
		{[]*outcome{told, of("nutch", 101, 102)}, "There is nothing to be won: nutch comes to 1.015 ± 0.007 of your result."},
		{[]*outcome{told, of("nutch", 97, 97)}, "None of the policies below would have done as well: nutch comes closest, with 0.970 ± 0.000 of your result."},
		{[]*outcome{of("nutch", 100, 140)}, "Nothing is sure to be won: nutch comes to 1.200 ± 0.283 of your result, but that may be chance"},
		{[]*outcome{of("nutch", 119, 120, 121), of("cho", 120, 121, 122)}, "With polls at the same times cho would have found a change with 121 ± 1 of them: 1.21 ± 0.01 times as many."},
		{[]*outcome{of("rate-filter", 119, 119, 119), of("cho", 120, 121, 122)}, "rate-filter would have found a change with 119 ± 0 of them: 1.19 ± 0.00"},
		{[]*outcome{of("rate-filter", 115, 115, 115), of("cho", 120, 121, 122)}, "cho would have"},
		{[]*outcome{of("rate-filter", 140, 140), of("cho", 145, 165)}, "rate-filter would have"},
	} {
		require.Contains(t, judge([]reading{{outcomes: append([]*outcome{own}, c.outcomes...)}}, goals[0]).text(goals[0]), c.text)
	}
}

// A policy is judged by the reading that is the worse for it, and what it comes to by the other one
// is said, too.
func TestJudgeOfTwoReadings(t *testing.T) {
	t.Parallel()
	of := func(name string, freshness ...float64) *outcome {
		o := &outcome{policy: ownPolicy, freshness: freshness}
		if name != "" {
			chosen, err := choose(name)
			require.NoError(t, err)
			o.policy = chosen[0]
		}
		return o
	}
	two := func(first, second []*outcome) []reading {
		return []reading{
			{outcomes: append([]*outcome{of("", 0.8, 0.8)}, first...)}, {outcomes: append([]*outcome{of("", 0.9, 0.9)}, second...)},
		}
	}
	nutch, better, worse := of("nutch", 0.95, 0.95), of("cho", 0.96, 0.96), of("cho", 0.7, 0.7)
	for _, c := range []struct {
		readings []reading
		ahead    bool
		text     string
	}{
		{two([]*outcome{nutch}, []*outcome{nutch}), true,
			"nutch would have kept copies current for 0.9500 ± 0.0000 or 0.9500 ± 0.0000 of the time instead of 0.9000 or 0.8000: 2.00 ± 0.00 to 4.00 ± 0.00 times less stale."},
		{two([]*outcome{nutch, better}, []*outcome{nutch, worse}), true, "With polls at the same times nutch would"},
		{two([]*outcome{better}, []*outcome{worse}), false, "Nothing is sure to be won: cho comes to 0.333 ± 0.000 to 5.000 ± 0.000 of your result, by how often pages really change"},
		{two([]*outcome{worse}, []*outcome{worse}), false, "None of the policies below would have done as well: cho comes closest, with 0.333 ± 0.000 to 0.667 ± 0.000 of your result."},
		{two([]*outcome{of("cho", 0.8, 0.8)}, []*outcome{worse}), false, "There is nothing to be won: cho comes to 0.333 ± 0.000 to 1.000 ± 0.000 of your result."},
		// Nothing to be won by one that does as the crawler does hides what the library may win.
		{two([]*outcome{of("uniform", 0.8, 0.8), of("rate-filter", 0.9, 0.9)}, []*outcome{of("uniform", 0.9, 0.9), of("rate-filter", 0.89, 0.89)}), false,
			"Nothing is sure to be won: rate-filter comes to 0.909 ± 0.000 to 2.000 ± 0.000 of your result, by how often pages really change"},
		{two([]*outcome{of("uniform", 0.8, 0.8), of("cho", 0.9, 0.9)}, []*outcome{of("uniform", 0.9, 0.9), of("cho", 0.89, 0.89)}), false,
			"Nothing is sure to be won: cho comes to 0.909 ± 0.000 to 2.000 ± 0.000 of your result"},
		{two([]*outcome{of("uniform", 0.8, 0.8), of("rate-filter", 0.8, 0.8)}, []*outcome{of("uniform", 0.9, 0.9), of("rate-filter", 0.89, 0.89)}), false,
			"There is nothing to be won: uniform comes to 1.000 ± 0.000 of your result."},
		{two([]*outcome{of("uniform", 0.8, 0.8), of("rate-filter", 0.8, 0.84)}, []*outcome{of("uniform", 0.9, 0.9), of("rate-filter", 0.89, 0.89)}), false,
			"Nothing is sure to be won: rate-filter comes to 0.909 ± 0.000 to 1.111 ± 0.177 of your result, but that may be chance"},
		{two([]*outcome{better, of("rate-filter", 0.9, 0.9)}, []*outcome{of("cho", 0.95, 0.95), of("rate-filter", 0.89, 0.89)}), true, "With polls at the same times cho would"},
	} {
		v := judge(c.readings, goals[1])
		require.Equal(t, c.ahead, v.ahead(), c.text)
		require.Contains(t, v.text(goals[1]), c.text)
	}
}

// The fewer draws there are, the more they must be off 0 not to be chance: if all verdicts of draws of
// the same law are taken, those on the wrong side are 1 in 44, to four standard deviations. Of a single
// draw nothing is more than chance.
func TestChance(t *testing.T) {
	t.Parallel()
	of := func(ratios ...float64) verdict { return verdict{times: 2, ratios: ratios} }
	require.False(t, of(2).ahead())
	require.True(t, of(2, 2).ahead())
	require.False(t, of(1.9, 2.1).ahead())
	require.True(t, of(1.9, 2, 2.1).ahead())
	one := verdict{own: &outcome{}, best: &outcome{policy: policy{name: "cho"}}, times: 2, ratios: []float64{2}}
	require.Contains(t, one.text(goals[0]), "Nothing is sure to be won: cho comes to 2.000 of your result, but a single draw may be chance.")
	one.times = 0.5
	require.Contains(t, one.text(goals[0]), "Nothing is sure to be won: cho comes to 0.500 of your result, but a single draw may be chance.")

	rng := rand.New(rand.NewPCG(1, 3))
	for _, draws := range []int{2, 3, 4, 6, 10, 15, 40} {
		const trials = 20_000
		beyond := 0
		for range trials {
			var ratios []float64
			mean := 0.0
			for range draws {
				x := rng.NormFloat64()
				mean += x / float64(draws)
				ratios = append(ratios, math.Exp(x))
			}
			if mean-rng.NormFloat64() > (verdict{ratios: ratios}).chance() {
				beyond++
			}
		}
		const share = 0.0455 / 2
		require.InDelta(t, share*trials, beyond, 4*math.Sqrt(share*trials), "%d draws", draws)
	}
}

// Where changes come in bursts, more may be won than what is said of constant rates, and it is not
// said that there is nothing to be won. Of wins all is said as ever.
func TestJudgeOfBursts(t *testing.T) {
	t.Parallel()
	of := func(times float64) string {
		return verdict{own: &outcome{detected: []float64{100}}, best: &outcome{policy: policy{name: "cho"}, detected: []float64{100 * times}}, times: times, ratios: []float64{times, times}, bursty: true}.text(goals[0])
	}
	for _, times := range []float64{0.9, 1, 1.02} {
		require.Contains(t, of(times), fmt.Sprintf("Nothing is sure to be won: cho comes to %.3f ± 0.000 of your result where rates are constant, which they are not here.", times))
	}
	require.Contains(t, of(1.1), "1.10 ± 0.00 times as many")
}

// Few polls that found a change are a matter of luck, and so is what is said of them.
func TestDryRunOfASmallLog(t *testing.T) {
	t.Parallel()
	for changes, small := range map[int]bool{fewest - 1: true, fewest: false} {
		text := "url,time,changed\nb,1700000000,\nb,1700090000,0\n"
		for k, rank := range append([]int{fewest}, rand.New(rand.NewPCG(1, 2)).Perm(2*fewest-1)...) {
			text += fmt.Sprintf("a,%d,%t\n", 1700000000+3600*k, rank < changes)
		}
		path := filepath.Join(t.TempDir(), "small.csv")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		for _, flags := range [][]string{nil, {"-json"}} {
			var out bytes.Buffer
			require.NoError(t, run(append(flags, "-log", path, "-draws", "2", "-policies", "uniform"), &out, io.Discard))
			require.Equal(t, small, strings.Contains(out.String(), "The log is too small to say what is to be won: 20 polls at least must have found a change."), out.String())
			for _, more := range []string{"doubt", "nearly", "regular", "at_most", "least_changes", "between two polls that show"} {
				require.NotContains(t, out.String(), more, "the log leaves no doubt")
			}
		}
	}
	require.False(t, verdict{times: 2, ratios: []float64{2, 2}, few: true}.ahead())
	require.True(t, verdict{times: 2, ratios: []float64{2, 2}}.ahead())
}

// The README says what counts as a win.
func TestREADMESaysWhatIsWorthwhile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	require.NoError(t, err)
	require.Contains(t, string(text), fmt.Sprintf("Less than %.0f %%, or than two standard deviations", 100*worthwhile))
	require.Contains(t, string(text), fmt.Sprintf("by %.0f %% or one standard deviation at most", 100*worthwhile))
}

// The example of the README: a log of polling the built-in history in turn, twice an hour.
// Its pages change in bursts, which leave no trace in a log: less is claimed than is won.
// With -v it prints what the README says.
func TestDryRunOfTheBuiltInHistory(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	w, err := builtIn()
	require.NoError(t, err)
	polls := 16_000 // of 39,000
	if testing.Verbose() {
		polls = 0 // all
	}
	require.NoError(t, w.budgeted(0, polls))
	env, err := w.open(nil)
	require.NoError(t, err)
	scheduler, err := uniform(w.job(env, 0, nil))
	require.NoError(t, err)
	text := strings.Builder{}
	text.WriteString("url,time,changed\n")
	_, err = webenv.Run(env, scheduler, webenv.RunConfig{Start: w.start, Rate: w.rate, Duration: w.duration,
		OnPoll: func(p webenv.Poll) {
			fmt.Fprintf(&text, "%s,%.0f,%t\n", w.history.Names[p.Page], p.Time, p.Changed)
		}})
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "polls.csv")
	require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
	args := []string{"-log", path, "-policies", "uniform,nutch,rate-filter"}
	if testing.Verbose() {
		var out bytes.Buffer
		require.NoError(t, run(args, &out, io.Discard))
		t.Logf("\n%s", out.String())
	}

	said := runJSON(t, append(args, "-draws", "2")...)
	chosen, err := choose("uniform,rate-filter")
	require.NoError(t, err)
	truth, err := (&experiment{world: w, goal: goals[0], runs: 1}).compare(chosen)
	require.NoError(t, err)
	won := goals[0].relative(truth[1], truth[0])
	t.Logf("won: %.2f times as many", won)
	require.InDelta(t, 1, *said.Policies[1].Times, 0.01, "uniform")
	require.Greater(t, *said.Policies[3].Times, 1.02)
	require.Less(t, *said.Policies[3].Times, won)
}

// The changes of a draw are let go when all policies have polled them. Not parallel: it looks at the memory in use.
func TestDrawsAreLetGo(t *testing.T) {
	const pages, polls = 20, 1000
	draws := 20 * runtime.GOMAXPROCS(0) // more than are under way at a time
	l := &crawlLog{}
	for page := range pages {
		visits := []logged{{time: 1.7e9}}
		for k := range polls {
			visits = append(visits, logged{1.7e9 + float64(k+1)*hour, true})
		}
		l.urls, l.polls = append(l.urls, fmt.Sprint(page)), append(l.polls, visits)
	}
	rates := make([][]float64, draws)
	for draw := range rates {
		rates[draw] = slices.Repeat([]float64{10 / hour}, pages)
	}
	inUse := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, most := inUse(), uint64(0)
	var mu sync.Mutex
	probe := policy{name: "probe", new: func(j job) (webenv.Scheduler, error) {
		mu.Lock()
		defer mu.Unlock()
		most = max(most, inUse())
		return uniform(j)
	}}
	s := &settings{Program: &report.Program{Seed: 1}, draws: draws, groups: "folder", log: "log.csv"}
	_, _, err := s.dryRunOf(l, rates, nil, []policy{probe}, goals[0])
	require.NoError(t, err)
	const world = 8 * 10 * pages * polls // bytes of changes, about
	require.Less(t, most, before+uint64(draws/2*world))
}
