package partition

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// limited has 200 sites take an arm with time for 50 of them or one that is half as fast. It returns
// all choices and, of the last quarter of the crawls, the part of the accesses of the first 50 sites
// from the fast arm.
func limited(t *testing.T, weight func(site int) float64, crawls int, seed uint64) (choices []int, fast float64) {
	a, err := NewAssigner(2, 200, AssignerConfig{Capacity: []float64{50, math.Inf(1)}}, rand.NewPCG(seed, 1))
	require.NoError(t, err)
	for site := range 200 {
		require.NoError(t, a.SetWeight(site, weight(site)))
	}
	rng := rand.New(rand.NewPCG(seed, 2))
	accesses := 0
	for crawl := range crawls {
		for site := range 200 {
			arm, err := a.Next(site)
			require.NoError(t, err)
			choices = append(choices, arm)
			require.NoError(t, a.Observe(site, float64(1+arm)*(.8+.4*rng.Float64())))
			if site < 50 && crawl >= crawls*3/4 {
				accesses++
				if arm == 0 {
					fast++
				}
			}
		}
	}
	return choices, fast / float64(accesses)
}

// tenfold has the first 50 sites weigh ten times as much as the others.
func tenfold(weight float64) func(site int) float64 {
	return func(site int) float64 {
		if site < 50 {
			return 10 * weight
		}
		return weight
	}
}

// Only the ratios of weights matter. With prices in an absolute unit .57 to .63 of the heavy sites had
// the fast arm with weights of 1e-4 and 1e-2, and .39 with 1e4.
func TestAssignerWeightsHaveNoUnit(t *testing.T) {
	crawls := 400
	if testing.Short() {
		crawls = 100
	}
	for seed := range uint64(3) {
		want, _ := limited(t, tenfold(1), crawls, seed)
		for _, exponent := range []int{-100, -20, 20, 100} {
			got, _ := limited(t, tenfold(math.Ldexp(1, exponent)), crawls, seed)
			require.Equal(t, want, got, "weights times 2^%d", exponent)
		}
		for _, weight := range []float64{1, 1e-4, 1e4} {
			_, fast := limited(t, tenfold(weight), 400, seed)
			require.Greater(t, fast, .9, "weights of %v", weight)
		}
	}
}

// Sites that hardly weigh anything, and those of no weight, don't make the others equal.
func TestAssignerWeightsFarApart(t *testing.T) {
	for _, least := range []float64{0, 1e-6, 1e-30} {
		weight := func(site int) float64 {
			if site < 100 {
				return tenfold(1)(site)
			}
			return least
		}
		for seed := range uint64(3) {
			_, fast := limited(t, weight, 400, seed)
			require.Greater(t, fast, .9, "weights of 10, 1 and %v", least)
		}
	}
}

// Weights that are set anew take effect whatever their unit was before.
func TestAssignerUnitFollowsWeights(t *testing.T) {
	a, err := NewAssigner(2, 4, AssignerConfig{}, rand.NewPCG(1, 1))
	require.NoError(t, err)
	set := func(site int, weight float64) { require.NoError(t, a.SetWeight(site, weight)) }
	crawl := func() (exponent int) {
		for range a.Len() {
			for site := range a.All() {
				_, err := a.Next(site)
				require.NoError(t, err)
				require.NoError(t, a.Observe(site, 1))
				break
			}
		}
		return a.unit.exponent
	}
	for site := range 4 {
		set(site, 1024)
	}
	require.Zero(t, a.unit.exponent)
	require.Equal(t, 10, crawl())
	set(0, 4096) // the mean moves by half an exponent
	require.Equal(t, 10, crawl())
	set(1, 4096)
	require.Equal(t, 11, crawl())
	set(2, 0)
	set(3, 0)
	require.Equal(t, 12, crawl())
	require.NoError(t, a.Remove(1))
	id := a.Add() // in the same slot, of weight 1
	require.Equal(t, 6, crawl())
	set(id, 5e-324) // 0 as a float32
	require.Equal(t, 12, crawl())
	set(id, math.SmallestNonzeroFloat32)
	require.Equal(t, -69, crawl())
	set(0, 0)
	set(id, 0)
	require.Equal(t, -69, crawl(), "no weight is above 0")
	data, err := a.MarshalBinary()
	require.NoError(t, err)
	var b Assigner
	require.NoError(t, b.UnmarshalBinary(data))
	require.Equal(t, a.unit, b.unit)
}

// The slot of a removed arm serves a new one where all slots are in use.
func TestAddArmToTheMost(t *testing.T) {
	a, err := NewAssigner(nowhere-1, 0, AssignerConfig{}, rand.NewPCG(1, 1))
	require.NoError(t, err)
	_, err = a.AddArm(1)
	require.ErrorIs(t, err, ErrConfig)
	require.NoError(t, a.RemoveArm(7))
	id, err := a.AddArm(1)
	require.NoError(t, err)
	require.Equal(t, 7, Slot(id))
	_, err = a.AddArm(1)
	require.ErrorIs(t, err, ErrConfig)
}
