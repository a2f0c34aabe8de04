package belief

import "math"

const (
	// A leaning is mostLean nats for each cell at most, in as many as leanings steps either way: a
	// step moves the mean of a prior that is three cells wide by 0.07 cells.
	mostLean = 0.5
	leanings = 64
	// leastVariance of a prior, in cells, keeps a narrow one from hardly moving.
	leastVariance = 1
)

// leaningTo has the leanings, least first.
var leaningTo = func() (t [2*leanings + 1]Row) {
	for i := range t {
		lean := mostLean * float64(i-leanings) / leanings
		for k := range t[i] {
			t[i][k] = math.Exp(lean * (float64(k) - (Cells-1)/2.0))
		}
	}
	return t
}()

// Leaning returns what the weights of a prior are multiplied by for a page whose log rate is to be
// expected some nats above the mean of the prior, which has a variance in cells. The factors are
// exponential in the log rate: so the mean of a normal law moves, and its width stays. What polls
// have ruled out stays ruled out.
func Leaning(nats, variance float64) *Row {
	place := nats / (Step * max(leastVariance, variance) * mostLean) * leanings
	return &leaningTo[leanings+int(math.Round(max(-leanings, min(leanings, place))))]
}

// Level is the leaning that changes nothing.
func Level() *Row { return &leaningTo[leanings] }

// Lean multiplies the weights by a leaning and makes them sum to 1.
func (b *Belief) Lean(leaning *Row) { b.times(leaning) }
