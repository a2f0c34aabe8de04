package schedule

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/ids"
	"github.com/recrawl/recrawl/internal/portable"
)

// A Prediction is the predicted duration of a site's next run.
type Prediction struct {
	Mean   float64
	SD     float64 // standard deviation of the error of such predictions; 0 until an error is known
	Runs   int     // runs of the site behind the prediction
	Method string  // see Score
}

// A Score says how well a method predicted each run from those before it.
type Score struct {
	// Method is "last two" (the mean of the last two runs; Tsafrir, Etsion and Feitelson
	// 2007), "EWMA" (an exponentially weighted mean), "median" (of the last five: one wild
	// run changes nothing), "Holt" (level and linear trend; Holt 1957) or "truncated" (a
	// mean in which a run counts at most ten times the mean, as BOINC has it).
	Method   string
	AbsError float64 // mean of |ln(predicted/actual)|
	Spread   float64 // root mean square of ln(predicted/actual): see DispatcherConfig.Spread
	Runs     int
}

// A DurationPredictor predicts how long sites will take from how long they took before. Observe
// reports a run, Predict returns the prediction for the next run of a site, and PredictNew returns
// the prediction for a site without runs. Take it to make the durations of a [Problem] from earlier
// scans. The zero value is ready to use. A DurationPredictor is not safe for concurrent use.
//
// Number the sites without large gaps, or use the ids that another package gave them. An id of
// another package is valid until it is removed there; a new id in the slot of an old one starts a
// new history. Slots are below 2^24.
//
// # Cost
//
// Time: O(1) for Observe, Predict and Remove, without an allocation for sites seen before.
// PredictNew takes O(log n) for each site observed or removed since its last call, at most O(n).
//
// Memory: 143 bytes for each slot up to the largest one seen.
//
// # How it works
//
// It runs all methods side by side (see [Score]). Before every new run it scores the prediction of
// each method, so it backtests them all the time. It predicts with the method that did best so far
// over all sites.
type DurationPredictor struct {
	tracks []track // by slot
	abs    [methods]float64
	square [methods]float64
	scored int
	// known has the moments of the means of the last two runs of all sites with runs, by blocks of
	// slots. changed lists the blocks that PredictNew must sum anew, each once.
	known   momentTree
	changed []int
	stale   []bool // by block: whether it stands in changed
}

// blockSlots is the number of slots in a block. With 16 the tree over the blocks takes 3 to 6 bytes
// a site.
const blockSlots = 16

// mostSites is the most slots. The histories of that many sites take 2.4 GB. A larger number is
// most likely not a slot at all.
const mostSites = 1 << 24

// longestRun is the longest duration accepted, so that sums of squares stay finite.
const longestRun = 0x1p+400

// priorRuns is the weight of the error over all sites against a site's own error, in runs. If the
// spreads of sites differ by a factor of seven, the log score is 1.278; it is 1.297 with half as
// many runs and 1.250 with twice as many (go test ./schedule -v -run Sweep -sweep). If the spreads
// are alike, a larger weight is better.
var priorRuns = 4.

// generationOf returns the bits of an id above its slot.
func generationOf(site int) uint32 { return uint32(site >> ids.SlotBits) }

// track returns the history of a site with runs.
func (e *DurationPredictor) track(site int) (*track, error) {
	if slot := ids.Slot(site); site >= 0 && slot < len(e.tracks) {
		if t := &e.tracks[slot]; t.runs > 0 && t.generation == generationOf(site) {
			return t, nil
		}
	}
	return nil, fmt.Errorf("%w: site %d", ErrUnknown, site)
}

// Observe reports how long a run of a site took, from 2^−900 to 2^400. The first run makes the site
// known. The error is ErrDuration, or ErrUnknown for an id that is negative, too large, or older
// than another one of its slot.
func (e *DurationPredictor) Observe(site int, duration float64) error {
	slot := ids.Slot(site)
	if site < 0 || slot >= mostSites || slot < len(e.tracks) && e.tracks[slot].generation > generationOf(site) {
		return fmt.Errorf("%w: site %d", ErrUnknown, site)
	}
	if !positive(duration) || duration > longestRun {
		return fmt.Errorf("%w: site %d: %v", ErrDuration, site, duration)
	}
	if slot >= len(e.tracks) {
		e.tracks = append(e.tracks, make([]track, slot+1-len(e.tracks))...)
	}
	t := &e.tracks[slot]
	if t.generation != generationOf(site) {
		*t = track{generation: generationOf(site)}
	}
	if t.runs > 0 {
		for m := range methods {
			err := logRatio(t.predict(m), duration)
			e.abs[m] += math.Abs(err)
			e.square[m] += float64(err * err)
			t.square[m] += float64(err * err)
		}
		if e.scored < codec.MostCount {
			e.scored++
			t.scored++
		}
	}
	t.update(duration)
	e.touch(slot)
	return nil
}

// logRatio returns ln(a/b), also if a/b overflows or underflows.
func logRatio(a, b float64) float64 {
	if r := a / b; r > 0 && !math.IsInf(r, 1) {
		return portable.Log(r)
	}
	return portable.Log(a) - portable.Log(b)
}

// touch notes that the sum of a slot's block is out of date.
func (e *DurationPredictor) touch(slot int) {
	block := slot / blockSlots
	if block >= len(e.stale) {
		e.stale = append(e.stale, make([]bool, block+1-len(e.stale))...)
	}
	if !e.stale[block] {
		e.stale[block] = true
		e.changed = append(e.changed, block)
	}
}

// sum returns the moments of the sites known.
func (e *DurationPredictor) sum() moments {
	for _, block := range e.changed {
		var sum moments
		for k := block * blockSlots; k < min((block+1)*blockSlots, len(e.tracks)); k++ {
			if t := &e.tracks[k]; t.runs > 0 {
				sum = sum.and(moments{n: 1, mean: t.predict(byLastTwo)})
			}
		}
		e.known.set(block, sum)
		e.stale[block] = false
	}
	e.changed = e.changed[:0]
	return e.known.all()
}

// Remove forgets the history of a site. The scores of the methods keep what they learned from it.
// The error is ErrUnknown.
func (e *DurationPredictor) Remove(site int) error {
	t, err := e.track(site)
	if err != nil {
		return err
	}
	*t = track{generation: t.generation}
	e.touch(ids.Slot(site))
	return nil
}

// Predict returns the prediction for the next run of a site. The error is ErrUnknown for a
// site without runs: see PredictNew.
func (e *DurationPredictor) Predict(site int) (Prediction, error) {
	t, err := e.track(site)
	if err != nil {
		return Prediction{}, err
	}
	best, spread := e.best(), 0.0
	if e.scored > 0 {
		all := e.square[best] / float64(e.scored)
		spread = math.Sqrt((float64(priorRuns*all) + t.square[best]) / (priorRuns + float64(t.scored)))
	}
	mean := t.predict(best)
	// The spread is that of logarithms, so the error is a lognormal factor.
	return Prediction{Mean: mean, SD: mean * math.Sqrt(portable.Expm1(min(spread*spread, mostVariance))), Runs: t.runs, Method: methodNames[best]}, nil
}

// mostVariance keeps the standard deviation of a prediction finite: e^50 times the mean.
const mostVariance = 100

// PredictNew returns the prediction for a site without runs: the mean and standard deviation over
// the sites with runs. It is zero if there are none.
func (e *DurationPredictor) PredictNew() Prediction {
	all := e.sum()
	if all.n == 0 {
		return Prediction{}
	}
	return Prediction{Mean: all.mean, SD: math.Sqrt(all.m2 / all.n), Method: methodNames[e.best()]}
}

// best returns the method with the smallest error so far; at first it is "last two".
func (e *DurationPredictor) best() method {
	best := byLastTwo
	for m := range methods {
		if e.abs[m] < e.abs[best] {
			best = m
		}
	}
	return best
}

// Scores returns the score of every method, the best first. Predict uses the first one.
func (e *DurationPredictor) Scores() []Score {
	scores := make([]Score, methods)
	runs := math.Max(1, float64(e.scored))
	for m := range methods {
		scores[m] = Score{methodNames[m], e.abs[m] / runs, math.Sqrt(e.square[m] / runs), e.scored}
	}
	slices.SortStableFunc(scores, func(a, b Score) int { return cmp.Compare(a.AbsError, b.AbsError) })
	return scores
}

// Backtest runs all methods over the histories of sites and returns the predictor that has seen
// them. A history is the durations of a site's runs, from the oldest to the newest. The Scores of
// the predictor show how well each method would have done.
func Backtest(histories [][]float64) (*DurationPredictor, error) {
	e := &DurationPredictor{}
	for z, history := range histories {
		for k, d := range history {
			if err := e.Observe(z, d); err != nil {
				return nil, fmt.Errorf("%w (run %d)", err, k)
			}
		}
	}
	return e, nil
}
