package belief

import (
	"math"
	"sync"

	"github.com/recrawl/recrawl/knapsack/internal/fast"
)

// A Table holds a function of v = λτ at the points of the rate grid and gridFine points
// between any two, so that its values for all rates at a given τ lie side by side.
type Table [gridFine + 1][gridPoints]float64

const (
	gridFine   = 8
	gridOrigin = 36                       // index of v = 1
	gridPoints = gridOrigin + 16 + Cells  // v from 4e-10 on
	gridTop    = gridPoints - Cells - 0.5 // greatest position of the slowest rate
)

// NewTable tabulates fn, which is called for v from 4e-10 to about 1e9.
func NewTable(fn func(v float64) float64) *Table {
	t := new(Table)
	for s := range t {
		for i := range t[s] {
			t[s][i] = fn(math.Exp(Step * (float64(i-gridOrigin) + float64(s)/gridFine)))
		}
	}
	return t
}

// A gridPoint is a place in a Table.
type gridPoint struct {
	row, at int
	rest    float64
}

// gridAt returns the place of the slowest rate e^(Step·slowest) times tau > 0.
func gridAt(slowest, tau float64) gridPoint {
	pos := fast.Log(tau)/Step + slowest + gridOrigin
	if pos > gridTop { // max and min take twice the time
		pos = gridTop
	}
	pos = atLeast(0, pos)
	at := int(pos)
	fine := (pos - float64(at)) * gridFine
	row := int(fine)
	return gridPoint{row, at, fine - float64(row)}
}

// read puts the function's values at all rates into v: to return them would copy what was just written,
// for which a processor waits.
func (t *Table) read(v *Row, g gridPoint) {
	lo := (*Row)(t[g.row][g.at:])
	hi := (*Row)(t[g.row+1][g.at:])
	for k := range v {
		v[k] = lo[k] + float64(g.rest*(hi[k]-lo[k]))
	}
}

// mean returns the mean of the function's values at all rates, of which x has the probabilities.
func (t *Table) mean(x *Row, g gridPoint) float64 {
	lo := (*Row)(t[g.row][g.at:])
	hi := (*Row)(t[g.row+1][g.at:])
	var even, odd float64 // no sum waits for the one before
	for k := 0; k < Cells; k += 2 {
		even += float64(x[k] * (lo[k] + float64(g.rest*(hi[k]-lo[k]))))
		odd += float64(x[k+1] * (lo[k+1] + float64(g.rest*(hi[k+1]-lo[k+1]))))
	}
	return even + odd
}

// survive is e^(−v).
var survive = sync.OnceValue(func() *Table {
	return NewTable(func(v float64) float64 { return math.Exp(-v) })
})
