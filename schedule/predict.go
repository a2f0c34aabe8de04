package schedule

import (
	"fmt"
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
)

// Method is a way to predict the next duration of a site from its earlier ones.
type Method uint8

const (
	LastTwo   Method = iota // mean of the last two runs (Tsafrir, Etsion and Feitelson 2007)
	EWMA                    // exponentially weighted mean, weight 0.3 on the newest
	Median                  // median of the last five: one wild run changes nothing
	Holt                    // level and linear trend (Holt 1957), weights 0.5 and 0.2
	Truncated               // as BOINC: plain mean of ten runs, then weight 0.1; a run counts at most ten times the mean
	methods                 // their number
)

func (m Method) String() string {
	return name("Method", int(m), "last two", "EWMA", "median", "Holt", "truncated")
}

const (
	ewmaWeight    = .3
	medianWindow  = 5
	holtLevel     = .5
	holtTrend     = .2
	truncateAt    = 10
	truncateAfter = 10
	// longest is the longest duration taken: sums of squares stay finite.
	longest = 0x1p+400
	// priorRuns is how many runs the error of all sites weighs against a site's own.
	priorRuns = 4
)

// An Estimate is a predicted duration.
type Estimate struct {
	Mean   float64
	SD     float64 // standard deviation of the error of such predictions
	Runs   int     // runs of the site behind it; 0 for an unknown site
	Method Method
}

// A Score says how well a method predicted each run from those before it.
type Score struct {
	Method   Method
	AbsError float64 // mean of |ln(predicted/actual)|
	Spread   float64 // root mean square of ln(predicted/actual)
	Runs     int
}

// An Estimator predicts how long sites take from how long they took. It keeps
// all methods going side by side, scores each one's prediction before every new
// run (a backtest that never ends), and predicts with the one that did best so
// far over all sites. An unknown site gets the mean of the known ones.
//
// Sites are numbered from 0; memory is O(largest number), 168 bytes each. Observe and
// Predict take O(1) and allocate nothing for sites seen before. The zero value
// is ready to use.
type Estimator struct {
	tracks []track
	abs    [methods]float64
	square [methods]float64
	scored int
	// Sum and sum of squares of the sites' means of the last two runs.
	known       int
	sum, sumSqr float64
}

type track struct {
	runs         int
	recent       [medianWindow]float64 // the latest run is at (runs−1) mod 5
	ewma         float64
	level, trend float64
	mean         float64
	square       [methods]float64 // sums of squared log errors
	scored       int
}

// Observe tells the estimator how long a run of a site took.
func (e *Estimator) Observe(site int, duration float64) error {
	if site < 0 || site > math.MaxInt32 {
		return fmt.Errorf("%w: site %d", ErrUnknown, site)
	}
	if !positive(duration) {
		return fmt.Errorf("%w: site %d: %v", ErrDuration, site, duration)
	}
	if duration > longest {
		return fmt.Errorf("%w: site %d: %v", ErrOverflow, site, duration)
	}
	if site >= len(e.tracks) {
		e.tracks = append(e.tracks, make([]track, site+1-len(e.tracks))...)
	}
	t := &e.tracks[site]
	if t.runs > 0 {
		for m := range methods {
			err := math.Log(t.predict(m) / duration)
			e.abs[m] += math.Abs(err)
			e.square[m] += float64(err * err)
			t.square[m] += float64(err * err)
		}
		e.scored++
		t.scored++
		e.count(t, -1)
	}
	t.update(duration)
	e.count(t, 1)
	return nil
}

func (e *Estimator) count(t *track, sign float64) {
	v := t.predict(LastTwo)
	e.known += int(sign)
	e.sum += float64(sign * v)
	e.sumSqr += float64(sign * v * v)
}

// Remove forgets a site's own history; what it taught about the methods stays.
func (e *Estimator) Remove(site int) error {
	if site < 0 || site >= len(e.tracks) || e.tracks[site].runs == 0 {
		return fmt.Errorf("%w: site %d", ErrUnknown, site)
	}
	e.count(&e.tracks[site], -1)
	e.tracks[site] = track{}
	return nil
}

// Predict returns the estimate for the next run of a site. Before any run of
// any site it is zero.
func (e *Estimator) Predict(site int) Estimate {
	best := e.Best()
	if site < 0 || site >= len(e.tracks) || e.tracks[site].runs == 0 {
		if e.known == 0 {
			return Estimate{Method: best}
		}
		mean := e.sum / float64(e.known)
		return Estimate{Mean: mean, SD: math.Sqrt(max(0, e.sumSqr/float64(e.known)-mean*mean)), Method: best}
	}
	t := &e.tracks[site]
	spread := 0.0
	if e.scored > 0 {
		all := e.square[best] / float64(e.scored)
		spread = math.Sqrt((priorRuns*all + t.square[best]) / float64(priorRuns+t.scored))
	}
	mean := t.predict(best)
	// The spread is one of logarithms: that of a lognormal factor.
	return Estimate{Mean: mean, SD: mean * math.Sqrt(math.Expm1(min(spread*spread, 100))), Runs: t.runs, Method: best}
}

// Best returns the method with the smallest error so far, LastTwo at first.
func (e *Estimator) Best() Method {
	best := LastTwo
	for m := range methods {
		if e.abs[m] < e.abs[best] {
			best = m
		}
	}
	return best
}

// Scores returns the score of every method, the best first.
func (e *Estimator) Scores() []Score {
	scores := make([]Score, methods)
	runs := math.Max(1, float64(e.scored))
	for m := range methods {
		scores[m] = Score{m, e.abs[m] / runs, math.Sqrt(e.square[m] / runs), e.scored}
	}
	slices.SortStableFunc(scores, func(a, b Score) int {
		switch {
		case a.AbsError < b.AbsError:
			return -1
		case a.AbsError > b.AbsError:
			return 1
		}
		return 0
	})
	return scores
}

// Backtest runs all methods over the histories of sites, each the durations of
// its runs from the oldest to the newest, and returns their scores, the best
// first, and the estimator that has seen it all.
func Backtest(histories [][]float64) ([]Score, *Estimator, error) {
	e := &Estimator{}
	for z, history := range histories {
		for k, d := range history {
			if err := e.Observe(z, d); err != nil {
				return nil, nil, fmt.Errorf("run %d: %w", k, err)
			}
		}
	}
	return e.Scores(), e, nil
}

// predict returns the prediction of one method; there has been a run.
func (t *track) predict(m Method) float64 {
	last := t.recent[(t.runs-1)%medianWindow]
	switch m {
	case LastTwo:
		if t.runs == 1 {
			return last
		}
		return last/2 + t.recent[(t.runs-2)%medianWindow]/2
	case EWMA:
		return t.ewma
	case Median:
		k := min(t.runs, medianWindow)
		sorted := t.recent
		slices.Sort(sorted[:k])
		return sorted[(k-1)/2]/2 + sorted[k/2]/2
	case Holt:
		// A falling trend must not lead below what any run could take.
		return max(t.level+t.trend, last/4)
	default:
		return t.mean
	}
}

func (t *track) update(d float64) {
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

const (
	estimatorMagic   = "schedule.Estimator"
	estimatorVersion = 1
)

// AppendBinary appends the saved state to b.
func (e *Estimator) AppendBinary(b []byte) ([]byte, error) {
	w := codec.NewEncoder(b, estimatorMagic, estimatorVersion)
	w.Float64s(e.abs[:])
	w.Float64s(e.square[:])
	w.Int(e.scored)
	w.Int(e.known)
	w.Float64(e.sum)
	w.Float64(e.sumSqr)
	w.Int(len(e.tracks))
	for k := range e.tracks {
		t := &e.tracks[k]
		w.Int(t.runs)
		if t.runs == 0 {
			continue
		}
		w.Float64s(t.recent[:])
		w.Float64s([]float64{t.ewma, t.level, t.trend, t.mean})
		w.Float64s(t.square[:])
		w.Int(t.scored)
	}
	return w.Finish()
}

// MarshalBinary returns the saved state.
func (e *Estimator) MarshalBinary() ([]byte, error) { return e.AppendBinary(nil) }

// UnmarshalBinary restores a saved state, from which the estimator goes on bit
// for bit. Corrupt data gives ErrCorrupt and changes nothing.
func (e *Estimator) UnmarshalBinary(data []byte) error {
	r, err := codec.NewDecoder(data, estimatorMagic, estimatorVersion)
	if err != nil {
		return err
	}
	var n Estimator
	fill := func(to []float64) {
		v := r.Float64s()
		if len(v) != len(to) {
			r.Fail("%d numbers, want %d", len(v), len(to))
		}
		for _, x := range v {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				r.Fail("number %v", x)
			}
		}
		copy(to, v)
	}
	fill(n.abs[:])
	fill(n.square[:])
	n.scored, n.known = r.Int(), r.Int()
	n.sum, n.sumSqr = r.Float64(), r.Float64()
	sites := r.Int()
	if sites < 0 || sites > len(data)/8 {
		r.Fail("%d sites in %d bytes", sites, len(data))
		return r.Done()
	}
	n.tracks = make([]track, sites)
	known, scored := 0, 0
	for k := range n.tracks {
		t := &n.tracks[k]
		if t.runs = r.Int(); t.runs == 0 {
			continue
		}
		var means [4]float64
		fill(t.recent[:])
		fill(means[:])
		fill(t.square[:])
		t.ewma, t.level, t.trend, t.mean = means[0], means[1], means[2], means[3]
		t.scored = r.Int()
		if t.runs < 0 || t.scored < 0 || t.scored >= t.runs && r.Err() == nil {
			r.Fail("site %d: %d runs, %d predicted", k, t.runs, t.scored)
		}
		for i := range min(max(t.runs, 0), medianWindow) {
			if !positive(t.recent[i]) {
				r.Fail("site %d: duration %v", k, t.recent[i])
			}
		}
		known++
		scored += t.scored
	}
	if known != n.known || n.scored < scored || math.IsNaN(n.sum) || math.IsNaN(n.sumSqr) {
		r.Fail("%d sites known, want %d", known, n.known)
	}
	if err := r.Done(); err != nil {
		return err
	}
	*e = n
	return nil
}
