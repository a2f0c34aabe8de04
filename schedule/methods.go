package schedule

import (
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
)

// A method is a way to predict the next duration of a site from its earlier ones.
type method uint8

const (
	byLastTwo method = iota
	byEWMA
	byMedian
	byHolt
	byTruncated
	methods // number of methods
)

// The names of the methods, as in [Score].
var methodNames = [methods]string{"last two", "EWMA", "median", "Holt", "truncated"}

// The weights of the methods. This command measures each weight halved, as it is, and doubled:
//
//	go test ./schedule -v -run Sweep -sweep
//
// It uses random histories with noise, trends and wild runs. [Backtest] shows how well the methods
// suit given sites.
var (
	// ewmaWeight is the weight of the newest run. It is a compromise: half of it predicts noise
	// better (an error of .172 instead of .175), twice as much predicts trends better (.133 instead
	// of .144).
	ewmaWeight = .3
	// holtLevel and holtTrend are the weights of the newest level and trend, set by hand. Half of
	// either predicts the random histories better, by up to 7 %, but follows a change of trend
	// later.
	holtLevel = .5
	holtTrend = .2
)

const (
	// medianWindow is the number of runs in the median. With five, two wild runs do no harm.
	medianWindow = 5
	// truncateAt and truncateAfter are those of BOINC: it takes the plain mean of ten runs, then an
	// exponential mean of weight 1/10, and lets a run count at most ten times the mean.
	truncateAt    = 10
	truncateAfter = 10
	// holtFloor is the least prediction of a falling trend, as a share of the last run.
	holtFloor = .25
)

// A track is the history of a site, as far as the methods need it.
type track struct {
	runs         int
	recent       [medianWindow]float64 // the latest run is at (runs−1) mod 5
	ewma         float64
	level, trend float64
	mean         float64
	square       [methods]float64 // sums of squared log errors
	scored       int              // runs that were predicted
	generation   uint32           // of the id in this slot
}

// predict returns the prediction of one method; there has been a run.
func (t *track) predict(m method) float64 {
	last := t.recent[(t.runs-1)%medianWindow]
	switch m {
	case byLastTwo:
		if t.runs == 1 {
			return last
		}
		return float64(last/2) + float64(t.recent[(t.runs-2)%medianWindow]/2)
	case byEWMA:
		return t.ewma
	case byMedian:
		k := min(t.runs, medianWindow)
		sorted := t.recent
		slices.Sort(sorted[:k])
		return float64(sorted[(k-1)/2]/2) + float64(sorted[k/2]/2)
	case byHolt:
		return max(t.level+t.trend, last*holtFloor)
	default:
		return t.mean
	}
}

// update takes in a run.
func (t *track) update(d float64) {
	if t.runs == codec.MostCount { // only in forged states; the latest run stays where it is
		t.runs -= medianWindow
		t.scored = min(t.scored, t.runs)
	}
	t.recent[t.runs%medianWindow] = d
	t.runs++
	if t.runs == 1 {
		t.ewma, t.level, t.mean = d, d, d
		return
	}
	t.ewma += float64(ewmaWeight * (d - t.ewma))
	level := t.level
	t.level = float64(holtLevel*d) + float64((1-holtLevel)*(t.level+t.trend))
	t.trend += float64(holtTrend * (t.level - level - t.trend))
	weight := 1 / float64(min(t.runs, truncateAfter))
	t.mean += float64(weight * (min(d, truncateAt*t.mean) - t.mean))
}
