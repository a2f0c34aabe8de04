package belief

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
)

// A Page is the belief about one page, independent of the model that it was learnt in.
type Page struct {
	cycle   float64 // 0: nothing is known
	slowest float64 // where the grid began, in steps
	packed  Packed
}

// Cycle returns the unit of time of the model that the belief was learnt in, 0 if it had none.
func (p *Page) Cycle() float64 { return p.cycle }

// Page takes a copy of a belief out of the model.
func (m *Model) Page(p Packed) Page {
	if !m.Known() {
		return Page{}
	}
	m.follow(&p)
	return Page{m.cycle, m.slowestRate(), p}
}

// Adopt brings a belief into the model. Where the grids are not the same, log weights are
// interpolated; what is outside the grid is forgotten, as if the grid had moved.
func (m *Model) Adopt(p *Page) Packed {
	to := m.Fresh()
	if !m.Known() || p.cycle == 0 {
		return to
	}
	off := m.slowestRate() - p.slowest
	first := 0
	for _, step := range stride {
		n := Cells / step
		from := p.packed.w[first : first+n]
		for k := range n {
			at := max(0, min(float64(n-1), float64(k)+off/float64(step)))
			low := int(at)
			high := min(low+1, n-1)
			part := at - float64(low)
			to.w[first+k] = uint8(math.Round(float64((1-part)*float64(from[low])) + float64(part*float64(from[high]))))
		}
		first += n
	}
	return to
}

// Encode writes the page.
func (p *Page) Encode(e *codec.Encoder) {
	e.Float64(p.cycle)
	e.Float64(p.slowest)
	p.packed.Encode(e)
}

// Decode reads what Encode wrote.
func (p *Page) Decode(d *codec.Decoder) {
	p.cycle, p.slowest = decodeCycle(d), d.Float64In(-farthest, farthest)
	p.packed.Decode(d)
}
