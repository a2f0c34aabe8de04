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
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/webenv"
)

// Some pages change once a day, at an hour of their own, and the others hardly ever. A log that
// finds each of these changes does not tell that there are no more. What is won on the web itself is
// between what both readings claim, and nothing is called a win that is none.
func TestPagesThatChangeOnceADay(t *testing.T) {
	t.Parallel()
	chosen, err := choose("rate-filter")
	require.NoError(t, err)
	for name, c := range map[string]struct {
		daily       int // of 60 pages
		every, days float64
	}{
		"some": {12, 1, 40}, "one": {1, 1, 40}, "short": {12, 1, 5}, "rarely polled": {12, 2, 60},
		"every other poll": {12, 0.5, 30}, "4 of 5 polls": {12, 0.8, 60},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rates := append(slices.Repeat([]float64{-1}, c.daily), slices.Repeat([]float64{0.01}, 60-c.daily)...)
			l, truth := writtenLog(inTurn(rates, c.every, always(c.days)), rand.NewPCG(1, 0))
			readings := claimed(t, l, chosen, 2)
			require.Len(t, readings, 2)
			found := &outcome{policy: chosen[0]}
			require.NoError(t, l.crawl(truth, found, goals[0], 1, 1, "folder"))
			gain := goals[0].relative(found, readings[0].outcomes[0])
			v := judge(readings, goals[0])
			said := fmt.Sprintf("won %.3f, said %s", gain, v.said(3))
			t.Log(said)
			require.Less(t, v.times, gain+0.03, said)
			require.Greater(t, v.other.times, gain-0.03, said)
			require.False(t, v.ahead(), said)
		})
	}
}

// What a log leaves in doubt: pages of which 9 of 10 polls found a change, unless few polls did
// by luck, and all pages if changes are regular. Pages that change at random times are not
// regular, however they are polled, and neither are those that change in bursts.
func TestDoubt(t *testing.T) {
	t.Parallel()
	logged := func(pages int, found string) (l crawlLog) {
		for range pages {
			l.polls = append(l.polls, inDays(found))
		}
		return l
	}
	of := func(logs ...crawlLog) doubt {
		l := crawlLog{}
		for _, some := range logs {
			l.polls = append(l.polls, some.polls...)
		}
		return l.doubt(l.drawRates(10, 1))
	}
	quiet := logged(30, strings.Repeat("0", 40))
	require.Equal(t, doubt{}, of(quiet, logged(1, strings.Repeat("1111001111", 4))))
	d := of(quiet, logged(2, strings.Repeat("1111111110", 4)), logged(1, strings.Repeat("1", 40)))
	require.Equal(t, doubt{often: 3, pages: append(slices.Repeat([]bool{false}, 30), true, true, true)}, d)
	require.Contains(t, d.text(), "3 of these pages had changed at 9 of 10 polls or more")
	// Of pages that change at 2 of 3 polls some do at three times out of three.
	require.Equal(t, doubt{}, of(logged(40, "110100011"), logged(5, "111")))
	require.Equal(t, 10, of(logged(40, "0000"), logged(10, "1111")).often)

	d = of(quiet, logged(2, strings.Repeat("10", 20)))
	require.Equal(t, doubt{regular: true, pages: slices.Repeat([]bool{true}, 32)}, d)
	require.Contains(t, d.text(), "more regularly than at random times")
	require.True(t, of(logged(30, "0101")).regular)
	require.False(t, of(quiet, logged(2, strings.Repeat("1100", 10))).regular, "correlated by 0")
	require.False(t, of(quiet, logged(2, strings.Repeat("11110000", 5))).regular, "bursts")
	require.False(t, of(logged(1, "01010101")).regular, "may be chance")

	rng := rand.New(rand.NewPCG(1, 2))
	found := []byte("1")
	for range 40_000 { // neighbours are alike at 48.5 %
		found = append(found, found[len(found)-1])
		if rng.Float64() > 0.485 {
			found[len(found)-1] ^= '0' ^ '1'
		}
	}
	require.False(t, of(logged(1, string(found))).regular, "correlated by -0.03")
}

// Pages that change once in a fixed time are found to, whatever others do, and hardly any that
// change at random times or in bursts: 1 in 40 of those of which most polls find a change, to four
// standard deviations.
func TestEvenPages(t *testing.T) {
	t.Parallel()
	flagged := func(pages []simPage, seed uint64) (evenly, all int) {
		l, _ := writtenLog(pages, rand.NewPCG(seed, 9))
		for _, polls := range l.polls {
			if !mostlyFound(polls) {
				continue
			}
			all++
			if even(polls) {
				evenly++
			}
		}
		return evenly, all
	}
	for _, every := range []float64{0.65, 0.7, 0.75, 0.8, 0.85, 0.9} {
		got, of := flagged(inTurn(slices.Repeat([]float64{-1}, 30), every, always(90)), 1)
		require.Equal(t, 30, of)
		require.Equal(t, 30, got, "%g", every)
	}
	random, all := 0, 0
	for seed, days := range []float64{20, 60, 60, 200} {
		rng := rand.New(rand.NewPCG(uint64(seed), 10))
		got, of := flagged(inTurn(webenv.LogNormalLaw(500, 1.5, 0.7, rng), 1, always(days)), uint64(seed))
		random, all = random+got, all+of
	}
	require.Greater(t, all, 500)
	require.Less(t, float64(random), float64(all)/40+4*math.Sqrt(float64(all)/40), "of %d", all)
	require.False(t, even(inDays("110110110110110")), "4 stretches")
	require.True(t, even(inDays("110110110110110110")))
	require.False(t, mostlyFound(inDays("1101010")))
	require.True(t, mostlyFound(inDays("1101")))
	require.False(t, even(inDays("1100111111011100111111110111")))
}

// Pages that change on some days of the week, or at some hours, are found to, polled once a day or
// nearly so, or by day and by night, and of pages that change at random times 1 in 10,000 is.
func TestPagesByTheClock(t *testing.T) {
	t.Parallel()
	on := func(days int, every, phase float64) []logged { // so many of each week, at noon
		polls := []logged{{phase * day, false}}
		for at := phase + every; at < 90; at += every {
			changed := false
			for d := range 90 {
				noon := float64(d) + 0.5
				changed = changed || d%7 < days && noon > at-every && noon <= at
			}
			polls = append(polls, logged{at * day, changed})
		}
		return polls
	}
	for _, days := range []int{5, 6} {
		for _, every := range []float64{0.9, 0.97, 1, 1.05} {
			if days == 6 && every < 0.97 {
				continue // some are not
			}
			for phase := range 10 {
				polls := on(days, every, float64(phase)/10)
				require.True(t, byClock(polls) || days == 6 && even(polls), "%d days, every %g", days, every)
				require.True(t, mostlyFound(polls))
			}
		}
	}
	atHours := []logged{{0, false}} // at 8 and 17 h, polled each 10.8 h
	for k := 1; k < 112; k++ {
		hour := math.Mod(10.8*float64(k), 24)
		atHours = append(atHours, logged{10.8 * 3600 * float64(k), hour >= 8 && hour < 18.8 || hour >= 17 || hour < 3.8})
	}
	require.True(t, mostlyFound(atHours))
	require.True(t, byClock(atHours))

	rng := rand.New(rand.NewPCG(8, 11))
	found, all := 0, 0
	for _, days := range []float64{20, 60, 200} {
		l, _ := writtenLog(inTurn(webenv.LogNormalLaw(1000, 1.5, 0.7, rng), 1, always(days)), rng)
		for _, polls := range l.polls {
			if all++; byClock(polls) {
				found++
			}
		}
	}
	require.LessOrEqual(t, found, 4, "of %d", all)
	require.False(t, byClock(on(5, 1, 0)[:20]), "too few polls")
	require.False(t, byClock([]logged{{0, true}, {1, true}}))
}

// What is claimed of logs in which a page in ten changes by a calendar is no more than is won.
func TestPagesWithACalendar(t *testing.T) {
	t.Parallel()
	chosen, err := choose("uniform,rate-filter")
	require.NoError(t, err)
	for _, every := range []float64{0.8, 0.88} {
		rng := rand.New(rand.NewPCG(4, 5))
		rates := append(slices.Repeat([]float64{-1}, 12), webenv.LogNormalLaw(108, 0.3, 1, rng)...)
		l, truth := writtenLog(inTurn(rates, every, always(60)), rng)
		drawn := l.drawRates(4, 1)
		d := l.doubt(drawn)
		require.False(t, d.regular)
		require.GreaterOrEqual(t, d.calendar, 12)
		require.Contains(t, d.text(), fmt.Sprintf("%d of these pages had changed at most polls, and at even intervals or at some hours or days of the week", d.calendar))
		readings := claimedOf(t, l, drawn, d, chosen)
		found := &outcome{policy: chosen[1]}
		require.NoError(t, l.crawl(truth, found, goals[0], 1, 1, "folder"))
		gain := goals[0].relative(found, readings[0].outcomes[0])
		v := worse(readings, 2, goals[0])
		said := fmt.Sprintf("every %g: won %.3f, said %s", every, gain, v.said(3))
		t.Log(said)
		require.Less(t, v.times, gain+0.03, said)
		require.Greater(t, v.other.times, gain-0.03, said)
	}
}

// inDays is a page polled once a day, of which a text says which polls found a change.
func inDays(found string) []logged {
	polls := []logged{{0, false}}
	for k, c := range found {
		polls = append(polls, logged{float64(k+1) * day, c == '1'})
	}
	return polls
}

// Nothing is regular of random times, in short logs and long ones, polled in turn or at gaps that
// follow what was found. 4 standard deviations would be exceeded once in 30,000 logs.
func TestRandomTimesAreNotRegular(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	for _, days := range []float64{5, 15, 60} {
		for seed := range uint64(10) {
			rng := rand.New(rand.NewPCG(seed, 8))
			rates := webenv.LogNormalLaw(300, 0.5, 1, rng)
			l, _ := writtenLog(inTurn(rates, 1, always(days)), rng)
			require.False(t, l.regular() || l.bursty(), "in turn, %g days", days)
			adaptive := &crawlLog{}
			for _, rate := range rates {
				polls, gap := []logged{{0, false}}, 1.0
				for at := gap; at < days; at += gap {
					changed := rng.ExpFloat64() < rate*gap
					polls = append(polls, logged{at, changed})
					if gap *= 1.4; changed {
						gap *= 0.8 / 1.4
					}
				}
				adaptive.polls = append(adaptive.polls, polls)
			}
			require.False(t, adaptive.regular() || adaptive.bursty(), "by what was found, %g days", days)
		}
	}
}

// Bursts, pages that wake and pages that fall asleep are told of.
func TestBurstyLogs(t *testing.T) {
	t.Parallel()
	for name, rate := range map[string]func(page int, at float64, burst bool) float64{
		"bursts": func(_ int, _ float64, burst bool) float64 { return map[bool]float64{false: 0.05, true: 1}[burst] },
		"wake": func(page int, at float64, _ bool) float64 {
			return map[bool]float64{true: 1}[page%10 == 0 && at > 30] + 0.03
		},
		"asleep": func(page int, at float64, _ bool) float64 {
			return map[bool]float64{true: 0.5}[page%2 == 0 && at < 30] + 0.03
		},
		"newspaper": func(page int, at float64, _ bool) float64 { return 2*math.Exp(-at/4) + 0.02 },
	} {
		rng := rand.New(rand.NewPCG(12, 13))
		l := &crawlLog{}
		for page := range 150 {
			polls, burst := []logged{{0, false}}, false
			for k := range 60 {
				if rng.Float64() < 0.2 {
					burst = !burst && rng.Float64() < 0.3
				}
				polls = append(polls, logged{float64(k+1) * day, rng.ExpFloat64() < rate(page, float64(k), burst)})
			}
			l.polls = append(l.polls, polls)
		}
		require.True(t, l.bursty(), name)
		require.False(t, l.regular(), name)
		d := l.doubt(l.drawRates(2, 1))
		require.True(t, d.bursty, name)
		require.Contains(t, d.text(), "Changes come in bursts, or rates change")
	}
	_, deviations := (&crawlLog{polls: [][]logged{{{0, true}, {1, true}}}}).neighbours()
	require.Zero(t, deviations)
}

// The rate at which as many polls are expected to find a change as did.
func TestExpectedRate(t *testing.T) {
	t.Parallel()
	polls := []logged{{0, true}, {1, true}, {2, false}, {5, true}, {9, false}}
	require.InDelta(t, 0.35172, expectedRate(polls), 1e-5) // 2(1−e^−r) + (1−e^−3r) + (1−e^−4r) = 2
	require.Zero(t, expectedRate([]logged{{0, true}, {1, false}, {2, false}}))
	require.Zero(t, expectedRate([]logged{{0, false}, {1, true}, {2, true}}))
}

// The rates that a log proves are those of the changes that were found.
func TestProvenRates(t *testing.T) {
	t.Parallel()
	l := &crawlLog{polls: [][]logged{{{0, true}, {10, true}, {20, false}, {40, true}}, {{5, false}, {7, true}}}}
	require.Equal(t, []float64{0.05, 3}, l.proven([]float64{2, 3}, []bool{true, false}))
	require.Equal(t, []float64{2, 3}, l.proven([]float64{2, 3}, nil))
}

// A log that leaves doubt is told of in both ways, as a text and as JSON.
func TestDryRunTextOfTwoReadings(t *testing.T) {
	t.Parallel()
	text := "url,time,changed\n"
	for page := range 20 {
		for k := range 30 {
			text += fmt.Sprintf("p%d,%d,%t\n", page, 1700000000+86400*k+4000*page, page < 3 || k%10 == page%10)
		}
	}
	path := filepath.Join(t.TempDir(), "often.csv")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	args := []string{"-log", path, "-draws", "2", "-policies", "uniform,rate-filter"}
	var out, messages bytes.Buffer
	require.NoError(t, run(args, &out, &messages))
	require.Contains(t, messages.String(), "(6960 polls)") // two draws of 580 by each of three, twice
	require.Contains(t, out.String(), "\n3 of these pages had changed at 9 of 10 polls or more")
	require.Contains(t, out.String(), "\nNothing is sure to be won: ")
	require.Equal(t, 2, strings.Count(out.String(), "\nyour crawler "))
	many := strings.Index(out.String(), "\nWith as many changes")
	require.Greater(t, strings.Index(out.String(), "\nWith one change between two polls"), many)
	require.Positive(t, many)

	out.Reset()
	require.NoError(t, run(append(args, "-json"), &out, io.Discard))
	var r logResult
	require.NoError(t, json.Unmarshal(out.Bytes(), &r))
	require.Equal(t, 3, r.Often)
	require.Contains(t, r.Doubt, "The log does not show how often")
	require.False(t, r.Ahead)
	of := map[string]int{"uniform": 1, "rate-filter": 2}[r.Best]
	require.Equal(t, r.Times, *r.Least[of].Times)
	require.Equal(t, *r.Most, *r.Policies[of].Times)
	require.Less(t, r.Times, *r.Most)
}
