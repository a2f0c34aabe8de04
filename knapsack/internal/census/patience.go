package census

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
)

// Bounds of patience, and how fast it moves. MostPatience costs 1/64 of the budget at most.
// The others are powers of 2, a trade between noticing that quiet pages wake
// (TestRateFilterNoticesThatQuietPagesWake) and spending little on them (TestPatienceGrows).
const (
	MostPatience  = 64 // cycles: a page is due after that many at the latest
	FirstPatience = 8  // cycles, where patience is learnt
	leastPatience = 4  // cycles
	patiencePace  = 8  // by how much it grows, in nats, while n polls earn nothing
	earnedMemory  = 4  // polls per page
	// mostShrink bounds how far one poll that earns much shortens patience, in units of what
	// one that earns nothing lengthens it by.
	mostShrink = 9
)

// Patience is the gap after which a page is due whatever its index, lest pages be written
// off that have all begun to change.
type Patience struct {
	cycles float64
	// earned is what all other polls found, by weight, of late; tried their number.
	tried, earned float64
}

// Cycles returns the gap.
func (p *Patience) Cycles() float64 { return p.cycles }

// Earn takes in what a poll of one of n pages found. Late polls are made because patience
// is over, while the index says that there is little to find. At the best schedule
// for constant rates all polls find a change with the same probability; so patience
// stays as it is where late polls earn as much as the others do, and shortens
// where they earn more.
func (p *Patience) Earn(weight float64, changed, late bool, n int) {
	found := 0.0
	if changed {
		found = weight
	}
	if !late {
		keep := 1 - 1/(earnedMemory*float64(max(n, 4)))
		p.tried = float64(p.tried*keep) + 1
		p.earned = min(float64(p.earned*keep)+found, math.MaxFloat64)
		return
	}
	usual := (p.earned + weight) / (p.tried + 2)
	if !(weight > usual && usual > 0) {
		return // it could not have earned as much, or the numbers are too small to tell
	}
	step := max(1-found/usual, -mostShrink) * patiencePace / float64(max(n, 32))
	p.cycles = max(leastPatience, min(MostPatience, p.cycles*math.Exp(step)))
}

func (p *Patience) encode(e *codec.Encoder) {
	e.Float64(p.cycles)
	e.Float64(p.tried)
	e.Float64(p.earned)
}

func (p *Patience) decode(d *codec.Decoder) {
	p.cycles = d.Float64In(leastPatience, MostPatience)
	p.tried, p.earned = d.NonNegative(), d.NonNegative()
}
