package main

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/schedule"
)

// One set of sites, scanned by each method: the times are makespans of all sites, and nothing is
// scaled to match.
func TestScanTimes(t *testing.T) {
	t.Parallel()
	var forward, best []float64
	for seed := range uint64(20) {
		s := newScan(rand.New(rand.NewPCG(seed, 1)), usualSpreads)
		times, err := s.times(3, seed)
		require.NoError(t, err)
		require.Len(t, times, 2+2*len(readingsOfBatch)+1)
		today, err := schedule.NewUniform(s.now, unitTimes(3))
		require.NoError(t, err)
		for name, v := range times {
			require.GreaterOrEqual(t, v, schedule.LowerBound(today)*(1-1e-12), name)
		}
		forward, best = append(forward, times["round robin 1"]), append(best, times[solved])
	}
	mean, sd := report.MeanSD(forward)
	require.Greater(t, sd, 0.05*mean, "sets of sites differ")
	planned, _ := report.MeanSD(best)
	require.Less(t, planned, 1.05*mean)
}

// The models agree where the full one has nothing to add: durations differ by the times that the
// reduction drops.
func TestModels(t *testing.T) {
	t.Parallel()
	full, reduced, err := models([]float64{1000, 50}, 3)
	require.NoError(t, err)
	for z, pages := range []float64{1000, 50} {
		for j := range 3 {
			dropped := full.Duration(z, j) - reduced.Duration(z, j)
			require.InDelta(t, response+(pages/20+21./1024)/serverKB, dropped, 0.005)
			require.InEpsilon(t, pages*unitTimes(3)[j], reduced.Duration(z, j), 1e-9)
		}
	}
}

// Where batch job 2 takes longer than round robin 1, the reason says so without a negative number.
func TestRelationsNameTheSide(t *testing.T) {
	t.Parallel()
	var all [][2]map[string]float64
	for _, two := range []float64{1.1, 1.2, 1.3} {
		all = append(all, [2]map[string]float64{{"round robin 1": 1, "round robin 2": 2,
			batchName(1, schedule.Literal): 1.5, batchName(2, schedule.Literal): two,
			batchName(1, schedule.FillToShare): 1.5, batchName(2, schedule.FillToShare): 2 - two,
			batchName(1, schedule.SkipOverflow): 1.5, batchName(2, schedule.SkipOverflow): two}})
	}
	rows := relations(all, 0, 3)
	require.Contains(t, rows[4].Why, "the mean time of round robin 1 is 3.5 standard errors below that of batch job 2.")
	require.Equal(t, Reproduced, rows[9].Verdict)
}

// The order of the table is a matter of what the paper does not say. Where sites are alike, batch job
// 1 is quicker than round robin 1, and where the fastest client asks first, batch job 2 is slower.
func TestOrderDependsOnOpenSettings(t *testing.T) {
	t.Parallel()
	l := &lab{Program: newProgram(t)}
	l.Quick = true
	rows, err := l.openSettings()
	require.NoError(t, err)
	require.Len(t, rows, 2*len(openSettings))
	for k, why := range map[int]string{0: "below that of round robin 1.", 6: "below that of batch job 2.", 7: "below that of batch job 2."} {
		require.Contains(t, rows[k].Item, openSettings[k/2].name)
		require.Equal(t, 300, rows[k].Runs)
		require.Equal(t, Differs, rows[k].Verdict, rows[k].Item)
		require.Contains(t, rows[k].Why, why)
	}
}
