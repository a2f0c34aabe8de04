package main

import (
	"flag"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/binpack"
)

var sweep = flag.Bool("sweep", false, "measure the settings of a Packer around their defaults")

// meanTally plays a packer on the drift by σ, within a factor of 2, from seeds 1, 2, …, and
// returns the means.
func meanTally(t *testing.T, sigma float64, seeds int, cfg binpack.PackerConfig) (m tally) {
	t.Helper()
	n := float64(seeds)
	for seed := range uint64(seeds) {
		w, err := drift(sigma, 2)(small, seed+1)
		require.NoError(t, err)
		got, err := play(w, newLiving(cfg, binpack.RebalanceConfig{}))
		require.NoError(t, err)
		m.nodes += got.nodes / n
		m.moves += got.moves / n
		m.overloaded += got.overloaded / n
		m.excess += got.excess / n
	}
	return m
}

// Prints what the fleet comes to under a drift of 2 and of 10 %, for each setting at values around
// its default, the others at theirs.
func TestSweep(t *testing.T) {
	if !*sweep {
		t.Skip("measures for minutes; run with -sweep")
	}
	fmt.Printf("%-18s %23s %25s\n", "", "drift 2 %", "drift 10 %")
	fmt.Printf("%-18s", "")
	for range 2 {
		fmt.Printf(" %7s %7s %10s", "nodes", "moves", "overload %")
	}
	fmt.Println()
	measure := func(name string, cfg binpack.PackerConfig) {
		fmt.Printf("%-18s", name)
		for _, sigma := range []float64{.02, .1} {
			m := meanTally(t, sigma, 20, cfg)
			fmt.Printf(" %7.3f %7.3f %10.3f", m.nodes, m.moves, m.overloaded)
		}
		fmt.Println()
	}
	measure("defaults", binpack.PackerConfig{})
	for _, s := range []struct {
		name   string
		set    func(*binpack.PackerConfig, float64)
		values []float64
	}{
		{"headroom", func(c *binpack.PackerConfig, x float64) { c.Headroom = x }, []float64{-1, .09, .13, .24, .36}},
		{"early", func(c *binpack.PackerConfig, x float64) { c.Early = x }, []float64{-1, .001, .004, .01, .02}},
		{"move cost", func(c *binpack.PackerConfig, x float64) { c.MoveCost = x }, []float64{-1, .2, .4, .9, 1.3}},
		{"node cost", func(c *binpack.PackerConfig, x float64) { c.NodeCost = x }, []float64{-1}},
	} {
		for _, x := range s.values {
			var cfg binpack.PackerConfig
			s.set(&cfg, x)
			measure(fmt.Sprint(s.name, " ", x), cfg)
		}
	}
}
