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
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/webenv"
)

// What is drawn is what the log says: changes in every gap at whose end one was found and in
// no other, none before the first poll, none after the end of the log. So the crawler of
// the log finds what it found.
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
		w, err := l.world("web", rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		require.NoError(t, err)
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
			}
			if len(times) > 0 {
				require.Greater(t, times[0], polls[0].time)
				require.LessOrEqual(t, times[len(times)-1], last)
			}
		}
		own, err := l.replay(w)
		require.NoError(t, err)
		require.Equal(t, []float64{found}, own.detected)
	})
}

// After its last poll a page goes on at its rate, to four standard deviations of a Poisson
// count. Of 40 polls 20 found a change: −ln(20.5/40.5) a day.
func TestDrawnAfterTheLastPoll(t *testing.T) {
	t.Parallel()
	l := &crawlLog{polls: [][]logged{nil, {{0, false}, {1040 * day, false}}}}
	for k := range 41 {
		l.polls[0] = append(l.polls[0], logged{float64(k) * day, k%2 == 1})
	}
	w, err := l.world("web", rand.NewPCG(1, 2))
	require.NoError(t, err)
	count := 0
	for _, at := range w.history.Times[0] {
		if at > 40*day {
			count++
		}
	}
	require.Empty(t, w.history.Times[1])
	mean := 1000 * math.Log(40.5/20.5)
	require.InDelta(t, mean, count, 4*math.Sqrt(mean))
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
	require.InDelta(t, mostAfter, poisson(1e300, rng), 4*math.Sqrt(mostAfter))
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
	truth, err := (&experiment{world: w, runs: 1}).compare(chosen)
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
	_, path := writeLog(t, "poisson:0.1", 40, 100*day, 0.3)
	for objective, want := range map[string]string{
		"detections": "times as many", "freshness": "times less stale", "delay": "times sooner", "age": "times better",
	} {
		var out, messages bytes.Buffer
		require.NoError(t, run([]string{"-log", path, "-objective", objective, "-draws", "2", "-policies", "nutch,rate-filter,true-rates"}, &out, &messages))
		require.Contains(t, out.String(), "Your crawler polled 40 pages 720 times in 100 days, 0.3 times an hour")
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
	var r result
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	require.Equal(t, 720, r.Polls)
	require.Len(t, r.Policies, 2)
}
