package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/webenv"
)

// With the variable set the test binary is the program.
func TestMain(m *testing.M) {
	if os.Getenv("RECRAWL_MAIN") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func runJSON(t *testing.T, args ...string) result {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, run(append(args, "-json"), &out, io.Discard))
	var r result
	d := json.NewDecoder(&out)
	require.NoError(t, d.Decode(&r))
	_, err := d.Token()
	require.Equal(t, io.EOF, err, "more than one JSON object")
	return r
}

// Uniform and the rules draw no numbers, so that their figures are exact. Those
// of LAKG are means of five runs: four standard errors of the standard deviations
// 154, 94 and 45 of a hundred.
func TestDefaultFigures(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	r := runJSON(t, "-runs", "5",
		"-policies", "uniform,lakg-300,lakg-1500,lakg-2500,nutch,stormcrawler,newscrawl,rate-filter,true-rates")
	require.Equal(t, "terms-changes", r.Trace)
	require.Equal(t, 877, r.Pages)
	require.Equal(t, 39445, r.Polls)
	detected := map[string]float64{}
	for _, p := range r.Policies {
		detected[p.Name] = p.Detected
		require.InDelta(t, p.Detected/39445, p.PerPoll, 1e-12)
	}
	require.Equal(t, 3608.0, detected["uniform"])
	require.Equal(t, 6816.0, detected["nutch"])
	require.Equal(t, 6528.0, detected["newscrawl"])
	require.Equal(t, 8180.0, detected["stormcrawler"])
	require.InDelta(t, 5922, detected["lakg-300"], 4*154/math.Sqrt(5))
	require.InDelta(t, 4329, detected["lakg-1500"], 4*94/math.Sqrt(5))
	require.InDelta(t, 3883, detected["lakg-2500"], 4*45/math.Sqrt(5))
	require.Greater(t, detected["true-rates"], detected["stormcrawler"])
	require.Greater(t, detected["rate-filter"], detected["stormcrawler"])
	require.InDelta(t, 0.9451, r.Policies[0].Freshness, 0.0002)
}

func TestDataIsTheSource(t *testing.T) {
	t.Parallel()
	unzipped, err := gzip.NewReader(bytes.NewReader(termsChanges))
	require.NoError(t, err)
	h := sha256.New()
	_, err = io.Copy(h, unzipped)
	require.NoError(t, err)
	require.Equal(t, "c86e81a42d87c89cfdf35748499db6cbf6457835c5ebba6f8afa53be65344ced", hex.EncodeToString(h.Sum(nil)))
}

func TestJSONShape(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, run([]string{"-json", "-polls", "500", "-policies", "lakg-300,uniform", "-runs", "3"}, &out, io.Discard))
	var r map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	require.Equal(t, "terms-changes", r["trace"])
	require.Equal(t, 500.0, r["polls"])
	list := r["policies"].([]any)
	require.Len(t, list, 2)
	lakg, uniform := list[0].(map[string]any), list[1].(map[string]any)
	require.Equal(t, "lakg-300", lakg["name"])
	require.Equal(t, 3.0, lakg["runs"])
	require.Positive(t, lakg["sd"])
	require.Equal(t, "uniform", uniform["name"])
	require.Equal(t, 1.0, uniform["runs"])
	require.Nil(t, uniform["sd"])
	for _, key := range []string{"detected", "per_poll", "freshness", "age", "harmonic", "delay"} {
		require.IsType(t, 0.0, uniform[key], key)
	}
}

// The first policy of a table may have found nothing, of which nothing is a multiple.
func TestTimesOfNothing(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.NoError(t, run([]string{"-polls", "1", "-policies", "uniform,rate-filter"}, &out, io.Discard))
	require.Regexp(t, `uniform .* –\nrate-filter .* –\n`, out.String())
	one, none := &outcome{detected: []float64{1}}, &outcome{detected: []float64{0}}
	_, rows := table(&world{}, []*outcome{none, one}, goals[0])
	require.Equal(t, "–", rows[1][len(rows[1])-1])
}

// What there is one of is named so.
func TestTitle(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "one.csv")
	require.NoError(t, os.WriteFile(file, []byte("a,3600,90000\n"), 0o600))
	for args, want := range map[string]string{
		"-budget 1 -polls 1":  "one: 1 page, 1 change in 0 days; budget 1 poll per hour, 1 poll by each policy\n",
		"-budget 1":           "one: 1 page, 2 changes in 1 day; budget 1 poll per hour, 24 polls by each policy\n",
		"-budget 2 -polls 12": "one: 1 page, 1 change in 0 days; budget 2 polls per hour, 12 polls by each policy\n",
	} {
		var out bytes.Buffer
		require.NoError(t, run(append(strings.Fields(args), "-trace", file, "-policies", "uniform"), &out, io.Discard))
		title, _, _ := strings.Cut(out.String(), "\n")
		require.Equal(t, want, title+"\n")
	}
	text := crawlText(&world{pages: 1, polls: 3, duration: 3 * hour, rate: 1 / hour}, &outcome{detected: []float64{1}})
	require.Contains(t, text, "polled 1 page 3 times after the first poll of each, in 3 hours, once an hour, and 1 of")
}

func TestSameSeedSameFigures(t *testing.T) {
	t.Parallel()
	args := []string{"-polls", "3000", "-policies", "lakg-300", "-runs", "2", "-seed"}
	require.Equal(t, runJSON(t, append(args, "7")...), runJSON(t, append(args, "7")...))
	require.NotEqual(t, runJSON(t, append(args, "7")...).Policies, runJSON(t, append(args, "8")...).Policies)
}

func TestBadCommandLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ args, want string }{
		{"-policies x", `there is no "x"; there are uniform,`},
		{"-policies nutch,nutch", "twice"},
		{"-env zipf", "0 numbers, want 2"},
		{"-env bursty:1 -polls 100 -budget 1e-20", "1e-20 polls per hour are too few, 100 in 4.167e+20 days"},
		{"-env web", "there are zipf, tld, poisson, bursty and calm"},
		{"-env zipf:2,1", "alpha 2"},
		{"-env zipf:0,1", "no page changes"}, {"-env zipf:0.9,-1.5", "exponent -1.5: want 0 at least"},
		{"-env zipf:0.3,1.5,q=3", `no setting is called "q"`},
		{"-env zipf:0.3,1.5,r=-3", "not a whole number"},
		{"-env calm:often", `"often" is not a number`},
		{"-env poisson:-1", "RATE -1: want more than 0 and at most 1e+06 changes a day"},
		{"-env poisson:1e300", "RATE 1e+300: want more than 0 and at most 1e+06 changes a day"},
		{"-env bursty:1e300", "-env bursty:1e300: RATE 1e+300: want"},
		{"-log a -log b", "for flag -log: one file, and a was given before"},
		{"-env calm:1,-1", "SIGMA -1: want 0 to 10"},
		{"-env poisson:1,11", "SIGMA 11: want 0 to 10"},
		{"-env poisson:1,still=100", "still=100: want at most 99 % of the pages"},
		{"-env poisson:1,dead=9", `no setting is called "dead"`},
		{"-env poisson:NaN", "not a finite number"},
		{"-env calm -n 0", "-n 0: want 1 to"},
		{"-env calm -n -1", "-n -1: want 1 to"},
		{"-suite -n 100000000000", "want 1 to"},
		{"-env calm -trace x", "exclude each other"},
		{"-trace x -trace y", "-trace y: several go with -suite"},
		{"-env calm -env tld", "-env tld: several go with -suite"},
		{"-budget 1,2", "several go with -suite"},
		{"-objective age,delay", "several go with -suite"},
		{"-objective=", "want one"},
		{"-scenarios plain", "-scenarios goes with -suite"},
		{"-suite -scenarios rain", `there is no "rain"; there are plain,weights,signals,sitemap,costs,times,mates`},
		{"-suite -env calm -budget 1,2", "2 numbers for 1 webs"},
		{"-suite -env calm -budget 1e-9", "calm: -budget"},
		{"-suite -env calm -env calm", "calm twice"},
		{"-suite -env zipf", "0 numbers, want 2"},
		{"-suite -polls 5", "-polls does not go with -suite"},
		{"-groups site", "-groups site: there are folder and host"},
		{"-draws 3", "-draws goes with -log"},
		{"-suite -ablate -policies uniform", "-policies goes without -ablate"},
		{"-http -runs 3", "-runs goes without -http"}, {"-http -quick", "-quick goes without -http"},
		{"-log x -draws 0", "-draws 0"},
		{"-log= -draws 2", "-log: want a file, or - for standard input"},
		{"-suite -trace x -trace x", "-trace x twice"},
		{"-log x -budget 3", "-budget does not go with -log"},
		{"-log x -trace y", "-trace does not go with -log"},
		{"-env calm -http", "-http serves a history"},
		{"-budget 0", "0: want a number of polls above 0"},
		{"-budget NaN", "NaN: want a number of polls above 0"},
		{"-budget 1e300", "-budget: 1e+300 polls per hour are too many, 2e+304 in 821.8 days"},
		{"-budget 1e-9", "1e-09 polls per hour are not a single poll in 821.8 days"},
		{"-env calm:fixed", `"fixed" is not a number`},
		{"-env tld:bar", `"bar" is none of fixed, zipf`},
		{"-suite -http", "-http does not go with -suite"},
		{"-suite -out x", "-out does not go with -suite"},
		{"-polls -3", "-polls -3"},
		{"-polls 0", "-polls 0: want 1 at least"},
		{"-runs 0", "-runs 0"},
		{"-objective speed", `there is no "speed"; there are detections,freshness,age,harmonic,delay`},
		{"-n 10", "-n goes with -env"}, {"-suite -trace x -n 10", "-n goes with -env"},
		{"-speed", "-speed"},
		{"now", `"now"`},
	} {
		var out bytes.Buffer
		err := run(strings.Fields(c.args), &out, io.Discard)
		require.ErrorContains(t, err, c.want, c.args)
		require.ErrorAs(t, err, new(report.UsageError), c.args)
		require.Empty(t, out.String(), c.args)
	}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.ErrorIs(t, run([]string{"-h"}, &out, io.Discard), flag.ErrHelp)
	for _, p := range policies {
		require.Contains(t, out.String(), p.name)
	}
	for _, word := range []string{"-budget", "-trace", "zipf:A,B", "bursty", "go run ./examples/recrawl"} {
		require.Contains(t, out.String(), word)
	}
}

func TestExitCodes(t *testing.T) {
	t.Parallel()
	bad := filepath.Join(t.TempDir(), "bad.csv")
	require.NoError(t, os.WriteFile(bad, []byte("a,1,2\nb,5,4\n"), 0o600))
	for _, c := range []struct {
		args   []string
		code   int
		stderr string
	}{
		{[]string{"-h"}, 0, ""},
		{[]string{"-json", "-polls", "10", "-policies", "uniform"}, 0, ""},
		{[]string{"-policies", "x"}, 2, "recrawl -h explains the flags."},
		{[]string{"-trace", bad}, 1, bad + ":2: webenv: bad time"},
		{[]string{"-trace", bad + "x"}, 1, "no such file"},
	} {
		cmd := exec.Command(os.Args[0], c.args...)
		cmd.Env = append(os.Environ(), "RECRAWL_MAIN=1")
		var stderr bytes.Buffer
		cmd.Stderr = &stderr
		err := cmd.Run()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			require.Equal(t, c.code, exit.ExitCode(), c.args)
		} else {
			require.NoError(t, err)
			require.Zero(t, c.code, c.args)
		}
		require.Contains(t, stderr.String(), c.stderr, c.args)
	}
}

func TestTraceFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const text = "a,0,7200\nb,3600,36000\nc\n"
	plain, zipped := filepath.Join(dir, "web.csv"), filepath.Join(dir, "zipped.csv.gz")
	require.NoError(t, os.WriteFile(plain, []byte(text), 0o600))
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	require.NoError(t, os.WriteFile(zipped, b.Bytes(), 0o600))

	r := runJSON(t, "-trace", plain, "-budget", "1", "-policies", "uniform")
	require.Equal(t, "web", r.Trace)
	require.Equal(t, 10, r.Polls)
	// Polls of a, b, c in turn from 1 h on: b changes at 1 h and 10 h, when the
	// polls are of b (2 h) and a (10 h); a at 2 h, when it is polled at 4 h.
	require.Equal(t, 2.0, r.Policies[0].Detected)
	again := runJSON(t, "-trace", zipped, "-budget", "1", "-policies", "uniform")
	require.Equal(t, "zipped", again.Trace)
	require.Equal(t, r.Policies, again.Policies)

	for _, c := range []struct{ content, want string }{
		{"a,1,2\nb,yesterday\n", ".csv:2: webenv: bad time"},
		{"a,1,2\na,3\n", ".csv:2: webenv: bad page name"},
		{"", "no pages"},
		{"a,5\nb\n", "two times at least"},
		{"a,1700000000000,1710000000000\n", "a change at 1710000000000, after the year 2100: are the times in milliseconds?"},
		{"a,1,1e300\n", "a change at 1e+300, after the year 2100"},
		{"\x1f\x8bnonsense", ".csv:"},
		{b.String()[:b.Len()-10], "bad.csv: the gzipped file is cut off, or has something else behind it"},
		{b.String()[:5], "bad.csv: the gzipped file is cut off, or has something else behind it"},
	} {
		bad := filepath.Join(dir, "bad.csv")
		require.NoError(t, os.WriteFile(bad, []byte(c.content), 0o600))
		err := run([]string{"-trace", bad}, io.Discard, io.Discard)
		require.ErrorContains(t, err, c.want)
		require.ErrorContains(t, err, bad)
	}
	require.NoError(t, os.WriteFile(plain, []byte("a,1,2\n"), 0o600))
	require.ErrorContains(t, run([]string{"-trace", plain}, io.Discard, io.Discard), "2 polls per hour are not a single poll in 1.157e-05 days")
}

// Over HTTP every figure is that of the replay in the same process.
func TestHTTPAgrees(t *testing.T) {
	t.Parallel()
	w, err := builtIn()
	require.NoError(t, err)
	require.NoError(t, w.budgeted(2, 1500))
	chosen, err := choose("uniform,nutch,lakg-300,rate-filter,true-rates")
	require.NoError(t, err)
	replay, err := (&experiment{world: w, seed: 3, runs: 1}).compare(chosen)
	require.NoError(t, err)
	wire, err := (&experiment{world: w, seed: 3, runs: 1, http: true}).compare(chosen)
	require.NoError(t, err)
	for i, p := range chosen {
		require.Positive(t, replay[i].detected[0])
		require.Equal(t, replay[i].polls, wire[i].polls, p.name)
		require.Equal(t, replay[i].detected, wire[i].detected, p.name)
		require.Equal(t, replay[i].harmonic, wire[i].harmonic, p.name)
		require.InDeltaSlice(t, replay[i].freshness, wire[i].freshness, 1e-9, p.name)
		require.InDeltaSlice(t, replay[i].age, wire[i].age, 1e-9, p.name)
		require.Equal(t, replay[i].time, wire[i].time, p.name)
		require.Equal(t, replay[i].cumulative, wire[i].cumulative, p.name)
		require.InDeltaSlice(t, replay[i].fresh, wire[i].fresh, 1e-6, p.name)
	}
}

func TestPictures(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var out bytes.Buffer
	require.NoError(t, run([]string{"-polls", "300", "-policies", "uniform,nutch", "-out", dir}, io.Discard, &out))
	for _, name := range []string{"detections.svg", "freshness.svg", "recrawl.html"} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Contains(t, string(content), "<svg", name)
		require.Contains(t, string(content), "nutch", name)
		require.NotContains(t, strings.ReplaceAll(string(content), "http://www.w3.org/", ""), "http://", name)
		require.Contains(t, out.String(), filepath.Join(dir, name))
	}
}

func TestSimulations(t *testing.T) {
	t.Parallel()
	for _, spec := range []string{
		"zipf:0.3,1.5", "zipf:0.9,1.5,r=100", "tld", "tld:fixed", "tld:zipf", "tld:zipf,shift=100",
		"poisson:0.05", "poisson:0.05,0", "poisson:0.05,still=80", "bursty:0.02", "calm", "calm:0.1",
	} {
		r := runJSON(t, "-env", spec, "-n", "40", "-polls", "2000", "-runs", "2", "-policies", "uniform,lakg-300,nutch,true-rates")
		require.Equal(t, spec, r.Trace)
		require.Equal(t, 2000, r.Polls, spec)
		for _, p := range r.Policies {
			require.Positive(t, p.Detected, "%s: %s", spec, p.Name)
			require.Nil(t, p.Harmonic)
			require.Equal(t, 2, p.Runs)
		}
	}
}

func TestStillPages(t *testing.T) {
	t.Parallel()
	w, err := simulation("poisson:1,still=90", 50)
	require.NoError(t, err)
	env, err := w.open(rand.NewPCG(1, 2))
	require.NoError(t, err)
	var moving []int
	for page := range 50 {
		if env.Rate(page, 0) > 0 {
			moving = append(moving, page)
		}
	}
	require.Len(t, moving, 5)
	require.NotEqual(t, []int{45, 46, 47, 48, 49}, moving, "they are drawn")
}

// The number of a page does not tell its rank, and what its polls show fits its rate.
func TestRanksAreDrawn(t *testing.T) {
	t.Parallel()
	const n = 400
	w, err := simulation("zipf:0.9,1.5", n)
	require.NoError(t, err)
	firsts := map[int]bool{}
	for seed := range uint64(5) {
		env, err := w.open(rand.NewPCG(seed, 2))
		require.NoError(t, err)
		var rates []float64
		for page := range n {
			rates = append(rates, env.Rate(page, 0))
		}
		first := slices.Index(rates, slices.Max(rates))
		firsts[first] = true
		changes := 0
		for slot := 1.0; slot <= 100; slot++ {
			if _, changed := env.Poll(first, slot); changed {
				changes++
			}
		}
		require.InDelta(t, 90, changes, 4*3) // standard deviations
		slices.Sort(rates)
		require.InDelta(t, 0.9, -math.Expm1(-rates[n-1]), 1e-12)
		require.InDelta(t, 0.9/math.Pow(n, 1.5), -math.Expm1(-rates[0]), 1e-12)
	}
	require.Greater(t, len(firsts), 2)
}

// Where an environment knows about every change, it does so under the new numbers.
func TestPagesOfSitesAreDrawn(t *testing.T) {
	t.Parallel()
	const n = 400
	w, err := simulation("tld:zipf", n)
	require.NoError(t, err)
	env, err := w.open(rand.NewPCG(1, 2))
	require.NoError(t, err)
	var surest []int // the first pages of the four sites change in every slot
	for page := range n {
		since, changed := env.Poll(page, 10)
		if math.IsInf(env.Rate(page, 0), 1) {
			require.True(t, changed)
			surest = append(surest, page)
			changes, delay := env.(delayer).Delays(page, since, 10)
			require.EqualValues(t, 10, changes)
			require.EqualValues(t, 9*10/2, delay)
		}
	}
	require.Len(t, surest, 4)
	require.NotEqual(t, []int{0, 100, 200, 300}, surest)

	w, err = simulation("zipf:0.9,1.5", n) // which knows nothing about delays
	require.NoError(t, err)
	env, err = w.open(rand.NewPCG(1, 2))
	require.NoError(t, err)
	require.NotImplements(t, (*delayer)(nil), env)
}

// Policies that are told the truth take budgets of more than a poll of every page in a slot, and rates next to
// nothing; one that makes no poll detects nothing.
func TestTruthAtItsLimits(t *testing.T) {
	t.Parallel()
	const told = "uniform,true-rates,true-proportional"
	for args, detected := range map[string]float64{"tld -budget 20": 1, "tld -budget 19.9": 1, "zipf:0.9,300": 1, "zipf:1e-300,1": 0} {
		r := runJSON(t, append([]string{"-n", "20", "-polls", "1000", "-runs", "1", "-policies", told, "-env"}, strings.Fields(args)...)...)
		for _, p := range r.Policies {
			require.Equal(t, detected > 0, p.Detected > 0, "%s: %s", args, p.Name)
			require.False(t, math.IsNaN(p.PerPoll))
		}
	}
	require.NoError(t, run(strings.Fields("-suite -quick -env tld -n 20 -budget 20 -scenarios costs -runs 1 -policies "+told), io.Discard, io.Discard))
}

// True rates are of no use if they are not followed.
func TestOracleFollows(t *testing.T) {
	t.Parallel()
	w, err := simulation("tld:zipf,shift=500", 200)
	require.NoError(t, err)
	require.NoError(t, w.budgeted(1, 20_000))
	p, err := choose("true-rates")
	require.NoError(t, err)
	following, err := (&experiment{world: w, runs: 1}).compare(p)
	require.NoError(t, err)
	w.moves = 0
	left, err := (&experiment{world: w, runs: 1}).compare(p)
	require.NoError(t, err)
	require.Greater(t, following[0].detected[0], 1.05*left[0].detected[0])
}

func TestMissedByHand(t *testing.T) {
	t.Parallel()
	h := &webenv.History{Names: []string{"a", "b"}, Times: [][]float64{{0, 2, 4, 9}, {1}}}
	w, err := replayed(h, "hand")
	require.NoError(t, err)
	m := newMissed(w, nil)
	m.poll(webenv.Poll{Page: 0, Time: 6})
	harmonic, delay := m.costs()
	// a: (6−2)/1 + (6−4)/2, then the change at the end, 9; b: 9−1. The change at the start
	// counts as seen. The delays are 4, 2, 0 and 8.
	require.InDelta(t, (4+1+8)/18.0, harmonic, 1e-15)
	require.InDelta(t, (4+2+0+8)/4.0, delay, 1e-15)

	m = newMissed(w, []float64{1, 3})
	m.poll(webenv.Poll{Page: 0, Time: 6})
	harmonic, delay = m.costs()
	require.InDelta(t, (4+1+3*8)/(9*4.0), harmonic, 1e-15)
	require.InDelta(t, (4+2+0+3*8)/6.0, delay, 1e-15)
}

// The program's own sum of delays, for polls over HTTP and for logs, is that of a run.
func TestMissedAgainstRun(t *testing.T) {
	t.Parallel()
	w, err := builtIn()
	require.NoError(t, err)
	require.NoError(t, w.budgeted(2, 3000))
	env, err := w.open(nil)
	require.NoError(t, err)
	scheduler, err := uniform(job{pages: w.pages})
	require.NoError(t, err)
	weights := scenario{weighted: true}.weights(w, rand.NewPCG(1, 2))
	m := newMissed(w, weights)
	r, err := webenv.Run(env, scheduler, webenv.RunConfig{
		Start: w.start, Duration: w.duration, Rate: w.rate, Weights: weights, OnPoll: m.poll,
	})
	require.NoError(t, err)
	_, delay := m.costs()
	require.InEpsilon(t, r.Delay, delay, 1e-9)
}

// A record holds as many changes as the law says: a binomial count per page, to
// four standard deviations of the sum.
func TestRecord(t *testing.T) {
	t.Parallel()
	const slots = 4000
	for spec, beta := range map[string]float64{"zipf:0.9,1.5": 1.5, "zipf:0.9,1.5,r=50000": 1.5, "zipf:0.9,0": 0} {
		w, err := simulation(spec, 50)
		require.NoError(t, err)
		rec, err := w.recorded(slots, 1, rand.NewPCG(1, 2))
		require.NoError(t, err)
		mean, variance := 0.0, 0.0
		for _, u := range webenv.ZipfLaw(50, 0.9, beta) {
			mean += slots * u
			variance += slots * u * (1 - u)
		}
		changes := 0
		for _, times := range rec.history.Times {
			changes += len(times)
		}
		require.InDelta(t, mean, changes, 4*math.Sqrt(variance), spec)

		env, err := rec.open(nil)
		require.NoError(t, err)
		swaps := 0
		if strings.Contains(spec, "r=") {
			require.Equal(t, 1000.0, rec.moves) // 50,000 polls of 50 pages
			for at := rec.moves; at < slots; at += rec.moves {
				for page := range 50 {
					if env.Rate(page, at) != env.Rate(page, at-1) {
						swaps++
					}
				}
			}
			require.Equal(t, 2*3, swaps) // two pages each at 1000, 2000, 3000
		}
	}
}

func TestRelative(t *testing.T) {
	t.Parallel()
	a := &outcome{detected: []float64{30, 50}, freshness: []float64{0.9}, age: []float64{2}, delay: []float64{4}}
	b := &outcome{detected: []float64{20}, freshness: []float64{0.8}, age: []float64{3}, delay: []float64{12}}
	for k, want := range []float64{2, 2, 1.5, math.NaN(), 3} {
		got := goals[k].relative(a, b)
		if math.IsNaN(want) {
			require.True(t, math.IsNaN(got))
			continue
		}
		require.InDelta(t, want, got, 1e-12)
	}
}

func TestSmoothed(t *testing.T) {
	t.Parallel()
	x, y := smoothed([]float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, []float64{0, 0, 0, 0, 8, 8, 8, 8, 1})
	require.Equal(t, []float64{4.5}, x)
	require.Equal(t, []float64{4}, y)
}

func TestPicturesShowEveryPolicy(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	dir := t.TempDir()
	var out bytes.Buffer
	require.NoError(t, run([]string{"-polls", "2000", "-runs", "1", "-out", dir}, io.Discard, &out))
	for _, file := range []string{"detections.svg", "freshness.svg", "recrawl.html"} {
		picture, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		require.Contains(t, out.String(), filepath.Join(dir, file))
		for _, p := range policies {
			require.Contains(t, string(picture), p.name, file)
		}
	}
}

// What policies find at the end of a history is in the picture.
func TestPictureOfLateChanges(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := "early,1700000000,1700100000,1700200000,1700300000,1700400000\n"
	for page := range 30 {
		text += fmt.Sprintf("late %d,1708%06d,1708700000\n", page, 500000+page)
	}
	trace := filepath.Join(dir, "late.csv")
	require.NoError(t, os.WriteFile(trace, []byte(text), 0o600))
	require.NoError(t, run([]string{"-trace", trace, "-budget", "4", "-policies", "uniform", "-out", dir}, io.Discard, io.Discard))
	picture, err := os.ReadFile(filepath.Join(dir, "detections.svg"))
	require.NoError(t, err)
	require.NotContains(t, string(picture), "Cut off")
}
