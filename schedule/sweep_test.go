package schedule

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

var sweep = flag.Bool("sweep", false, "measure the tuned values again")

// TestSweep prints what each tuned value of the dispatcher and of the predictor is worth,
// halved, as it is, and doubled: how much later crawls end than without probes and copies,
// in per cent, in worlds of a known spread of errors; and the mean error and the log score
// of predictions on histories with noise, trends and wild runs.
func TestSweep(t *testing.T) {
	if !*sweep {
		t.Skip("only with -sweep")
	}
	try := func(name string, value *float64, measure func() string) {
		old := *value
		for _, factor := range []float64{.5, 1, 2} {
			*value = old * factor
			fmt.Printf("%-14s %6.2f %s\n", name, *value, measure())
		}
		*value = old
	}
	fmt.Println("makespan with probes over that without, in %, for spreads of .15, .3 and 1")
	try("criticalShare", &criticalShare, probeGain)
	try("speedShare", &speedShare, probeGain)
	most := float64(mostProbes)
	try("mostProbes", &most, func() string { mostProbes = int(most); return probeGain() })
	mostProbes = int(most)
	fmt.Println("makespan over that of the plan kept to, in %, for spreads of .15, .3 and 1")
	try("paceMemory", &paceMemory, staticGain)
	try("paceDoubt", &paceDoubt, staticGain)
	try("commonDoubt", &commonDoubt, staticGain)
	try("patienceSpr.", &patienceSpreads, staticGain)
	fmt.Println("mean |ln(predicted/actual)| of the method, noise, trends and wild runs")
	methodError := func(m method) func() string {
		return func() (row string) {
			for kind := range 3 {
				e, _ := Backtest(sweepHistories(kind))
				row += fmt.Sprintf(" %.4f", e.abs[m]/float64(e.scored))
			}
			return row
		}
	}
	try("ewmaWeight", &ewmaWeight, methodError(byEWMA))
	try("holtLevel", &holtLevel, methodError(byHolt))
	try("holtTrend", &holtTrend, methodError(byHolt))
	fmt.Println("mean log score of the predicted spread, noise of spreads that differ by site")
	try("priorRuns", &priorRuns, func() string { return fmt.Sprintf(" %.4f", spreadScore()) })
}

// staticGain is the gain of the default dispatcher over the plan kept to.
func staticGain() (row string) {
	for _, spread := range []float64{.15, .3, 1} {
		row += fmt.Sprintf(" %6.2f", gain(spread, DispatcherConfig{}, DispatcherConfig{Static: true}))
	}
	return row
}

// probeGain is the gain of probes for several spreads.
func probeGain() (row string) {
	for _, spread := range []float64{.15, .3, 1} {
		row += fmt.Sprintf(" %6.2f", gain(spread, DispatcherConfig{Copies: 1, Spread: spread}, DispatcherConfig{Copies: 1}))
	}
	return row
}

// gain returns by how many per cent crawls end later with one config than with another, in
// worlds whose sites are off by a factor of the spread and whose clients by one of half of
// it.
func gain(spread float64, with, without DispatcherConfig) float64 {
	const worlds = 1000
	sum := 0.0
	for seed := range uint64(worlds) {
		p, actual := wrongWorld(5, seed, spread)
		plan := LPT(p)
		end := func(cfg DispatcherConfig) float64 {
			return must(Simulate(must(NewDispatcher(p, plan, cfg)), actual)).Makespan
		}
		sum += end(with)/end(without) - 1
	}
	return 100 * sum / worlds
}

// sweepHistories draws histories with noise only, with trends, and with wild runs.
func sweepHistories(kind int) [][]float64 {
	rng := rand.New(rand.NewPCG(uint64(kind), 2))
	histories := make([][]float64, 400)
	for z := range histories {
		base, slope := 50+100*rng.Float64(), 10*rng.Float64()
		for k := range 30 {
			d := base * math.Exp(.2*rng.NormFloat64())
			switch {
			case kind == 1:
				d += slope * float64(k)
			case kind == 2 && rng.IntN(15) == 0:
				d *= 10
			}
			histories[z] = append(histories[z], d)
		}
	}
	return histories
}

// spreadScore is the mean log likelihood of a run under its lognormal prediction.
func spreadScore() float64 {
	rng := rand.New(rand.NewPCG(3, 2))
	var e DurationPredictor
	score, count := 0.0, 0
	for z := range 400 {
		noise := .05 * math.Exp(2*rng.Float64())
		for k := range 30 {
			d := 100 * math.Exp(noise*rng.NormFloat64())
			if p, err := e.Predict(z); err == nil && k > 1 && p.SD > 0 {
				s := math.Sqrt(math.Log1p(p.SD * p.SD / (p.Mean * p.Mean)))
				x := math.Log(d/p.Mean) / s
				score -= math.Log(s) + x*x/2
				count++
			}
			_ = e.Observe(z, d)
		}
	}
	return score / float64(count)
}
