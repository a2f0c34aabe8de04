package partition

import (
	"flag"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/webenv"
)

var sweep = flag.Bool("sweep", false, "measure other values of the tuned constants; some minutes")

// sweepWebs are the environments of the sweep: 8 arms, 1000 sites, 100 crawls.
var sweepWebs = []struct {
	name   string
	change func(*webenv.DurationsConfig)
}{
	{"uniform", func(c *webenv.DurationsConfig) { c.Noise, c.Scatter = webenv.UniformNoise, 0.2 }},
	{"exponential", func(c *webenv.DurationsConfig) { c.Noise = webenv.ExponentialNoise }},
	{"switch", func(c *webenv.DurationsConfig) {
		c.Noise, c.Scatter, c.Every, c.AllSwitch = webenv.GaussianNoise, 0.3, 40, true
	}},
	{"congestion", func(c *webenv.DurationsConfig) {
		c.Noise, c.Scatter, c.Congestion = webenv.UniformNoise, 0.2, 2
		c.Resources = []float64{1, 1, 1, 1, 2, 2, 2, 2}
	}},
	{"exact congestion", func(c *webenv.DurationsConfig) { c.Congestion = 10 }},
	{"capacity", func(c *webenv.DurationsConfig) { c.Noise, c.Scatter = webenv.UniformNoise, 0.2 }},
}

// excess returns the time beyond the optimum, in % of it, of an assigner in an environment
// of the sweep. Under limited capacity the optimum is that without, and a second number is
// how much of the limited arm's time is used in the last crawl.
func excess(t testing.TB, web string, change func(*webenv.DurationsConfig), seed uint64) (percent, used float64) {
	const sites, crawls = 1000, 100
	env := durations(t, 8, sites, seed, change)
	var cfg AssignerConfig
	limit := 24.7 * sites / 16
	if web == "capacity" { // half of what is fastest from there
		cfg.Capacity = []float64{limit}
		for range 7 {
			cfg.Capacity = append(cfg.Capacity, math.Inf(1))
		}
	}
	a := newAssigner(t, 8, sites, cfg, seed)
	total, best := 0.0, 0.0
	for range crawls {
		optimum, _ := env.Optimum()
		_, time := crawl(t, a, env)
		total, best = total+time, best+optimum
	}
	_, time, err := a.Load(0)
	require.NoError(t, err)
	return 100 * (total/best - 1), time / limit
}

// TestSweep prints how the time of the six environments depends on every tuned constant.
func TestSweep(t *testing.T) {
	if !*sweep {
		t.Skip("only with -sweep")
	}
	const seeds = 6
	fields := []struct {
		name  string
		field *float64
	}{
		{"boldness", &tuned.boldness}, {"skewedShare", &tuned.skewedShare}, {"skewedVariance", &tuned.skewedVariance},
		{"manyArms", &tuned.manyArms}, {"manyStep", &tuned.manyStep},
		{"againArms", &tuned.againArms},
		{"slack", &tuned.slack}, {"surprise", &tuned.surprise}, {"memory", &tuned.memory},
		{"priorSquares", &tuned.priorSquares}, {"priorRepeats", &tuned.priorRepeats}, {"shrinkage", &tuned.shrinkage},
		{"noiseMemory", &tuned.noiseMemory}, {"slownessCrawls", &tuned.slownessCrawls},
		{"slownessAccesses", &tuned.slownessAccesses}, {"doubt", &tuned.doubt}, {"recovery", &tuned.recovery}, {"alarmAfter", &tuned.alarmAfter},
		{"alarmDrift", &tuned.alarmDrift}, {"alarmSurprise", &tuned.alarmSurprise}, {"alarm", &tuned.alarm},
		{"downFrom", &tuned.downFrom}, {"upAgain", &tuned.upAgain}, {"firstStep", &tuned.firstStep},
		{"leastStep", &tuned.leastStep}, {"growth", &tuned.growth}, {"reserve", &tuned.reserve},
		{"firstPriceStep", &tuned.firstPriceStep}, {"leastPriceStep", &tuned.leastPriceStep}, {"mostPriceStep", &tuned.mostPriceStep},
	}
	line := fmt.Sprintf("%-17s %9s", "constant", "value")
	for _, w := range sweepWebs {
		line += fmt.Sprintf("  %16s", w.name)
	}
	t.Log(line + "  limit used")
	measure := func(name string, value float64) {
		line := fmt.Sprintf("%-17s %9.4g", name, value)
		var used []float64
		for _, w := range sweepWebs {
			var all []float64
			used = nil
			for seed := range uint64(seeds) {
				e, u := excess(t, w.name, w.change, 1000+seed)
				all, used = append(all, e), append(used, u)
			}
			mean, sd := meanSD(all)
			line += fmt.Sprintf("  %8.2f ± %5.2f", mean, sd/math.Sqrt(seeds))
		}
		mean, _ := meanSD(used)
		t.Logf("%s  %10.3f", line, mean)
	}
	measure("as it is", 1)
	for _, f := range fields {
		was := *f.field
		for _, factor := range []float64{0.5, 2} {
			*f.field = was * factor
			measure(f.name, *f.field)
		}
		*f.field = was
	}
}

// The sweep tells a bad value from a good one: with twice the slack, switches go unnoticed.
// (Not parallel: it changes what all assigners use.)
func TestSweepMeasures(t *testing.T) {
	was := tuned
	t.Cleanup(func() { tuned = was })
	w := sweepWebs[2]
	good, _ := excess(t, w.name, w.change, 1)
	tuned.slack *= 2
	bad, _ := excess(t, w.name, w.change, 1)
	require.Greater(t, bad, 1.3*good)
}
