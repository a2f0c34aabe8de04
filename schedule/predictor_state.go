package schedule

import (
	"github.com/recrawl/recrawl/internal/codec"
)

var predictorFormat = codec.Format{Magic: "recrawl/schedule.DurationPredictor", Version: 2}

// MarshalBinary returns the saved state.
func (e *DurationPredictor) MarshalBinary() ([]byte, error) { return predictorFormat.Save(e.encode) }

// UnmarshalBinary restores a saved state. The predictor then continues bit for bit, in the same
// build on the same kind of processor. Corrupt data gives ErrCorrupt and changes nothing.
func (e *DurationPredictor) UnmarshalBinary(data []byte) error {
	return codec.Load(e, predictorFormat, data, (*DurationPredictor).decode)
}

func (e *DurationPredictor) encode(w *codec.Encoder) {
	w.Float64s(e.abs[:])
	w.Float64s(e.square[:])
	w.Int(e.scored)
	w.Int(len(e.tracks))
	for k := range e.tracks {
		t := &e.tracks[k]
		w.Uint32(t.generation)
		w.Int(t.runs)
		if t.runs == 0 {
			continue
		}
		w.Float64s(t.recent[:])
		w.Float64s([]float64{t.ewma, t.level, t.trend, t.mean})
		w.Float64s(t.square[:])
		w.Int(t.scored)
	}
}

const (
	// farthest is above all levels and trends of durations up to longestRun.
	farthest = 1e10 * longestRun
	// mostError is above all sums of errors of logarithms that can occur in a lifetime.
	mostError = 1e100
)

// leastTrack is the number of bytes of a slot without runs.
const leastTrack = 4 + 8

func (e *DurationPredictor) decode(r *codec.Decoder) {
	numbers := func(to []float64, low, high float64) { copy(to, r.Float64sIn(len(to), low, high)) }
	numbers(e.abs[:], 0, mostError)
	numbers(e.square[:], 0, mostError)
	e.scored = r.IntIn(0, codec.MostCount)
	e.tracks = make([]track, r.Count(leastTrack))
	scored := 0
	for k := range e.tracks {
		t := &e.tracks[k]
		t.generation = r.Uint32()
		if t.runs = r.IntIn(0, codec.MostCount); t.runs == 0 {
			continue
		}
		numbers(t.recent[:], 0, longestRun)
		var means [4]float64
		numbers(means[:], -farthest, farthest)
		t.ewma, t.level, t.trend, t.mean = means[0], means[1], means[2], means[3]
		r.Require(t.ewma > 0 && t.mean > 0, "slot %d: mean durations of %v and %v", k, t.ewma, t.mean)
		numbers(t.square[:], 0, mostError)
		t.scored = r.IntIn(0, t.runs-1)
		for _, d := range t.recent[:min(t.runs, medianWindow)] {
			r.Require(positive(d) && d <= longestRun, "slot %d: duration %v", k, d)
		}
		scored += t.scored
	}
	for slot := range e.tracks {
		e.touch(slot)
	}
	r.Require(scored <= e.scored, "%d runs predicted, the sites have %d", e.scored, scored)
}
