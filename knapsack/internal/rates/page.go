package rates

import "math"

// What was found of one page, taken out and put into the evidence of another crawl.

// Page implements Evidence.
func (m *Gamma) Page(slot int) Evidence {
	return &Gamma{[]float64{m.a[slot]}, []float64{m.b[slot]}}
}

// SetPage implements Evidence.
func (m *Gamma) SetPage(slot int, page Evidence) {
	p := page.(*Gamma)
	m.a[slot], m.b[slot] = p.a[0], p.b[0]
}

// Page implements Evidence.
func (m *Cho) Page(slot int) Evidence {
	return &Cho{[]uint32{m.polls[slot]}, []uint32{m.changes[slot]}, []float64{m.time[slot]}}
}

// SetPage implements Evidence.
func (m *Cho) SetPage(slot int, page Evidence) {
	p := page.(*Cho)
	m.polls[slot], m.changes[slot], m.time[slot] = p.polls[0], p.changes[0], p.time[0]
}

// Page implements Evidence.
func (m *Avrachenkov) Page(slot int) Evidence {
	return &Avrachenkov{[]uint32{m.polls[slot]}, []float64{m.lambda[slot]}, []float64{m.time[slot]}}
}

// SetPage implements Evidence.
func (m *Avrachenkov) SetPage(slot int, page Evidence) {
	p := page.(*Avrachenkov)
	m.polls[slot], m.lambda[slot], m.time[slot] = p.polls[0], p.lambda[0], p.time[0]
}

// Page implements Evidence.
func (m *MLE) Page(slot int) Evidence { return &MLE{m.page[slot : slot+1], m.unit} }

// SetPage implements Evidence. Where the octaves are others, each goes where its mean gap belongs.
func (m *MLE) SetPage(slot int, page Evidence) {
	from := page.(*MLE)
	p := from.page[0]
	if m.unit == 0 {
		m.unit = from.unit
	}
	if m.unit != from.unit {
		old := p
		clear(p.sum[:])
		clear(p.count[:])
		for o, count := range old.count {
			if count == 0 {
				continue
			}
			sum := float64(old.sum[o]) * (from.unit / m.unit)
			to := octave(sum / float64(count))
			p.sum[to] += inUnits(sum)
			p.count[to] += count
		}
	}
	m.page[slot] = p
}

// inUnits returns gaps, in units, within bounds: no sum of such float32s is 0 or infinite.
func inUnits(gaps float64) float32 { return float32(min(max(gaps, 1e-30), 1e30)) }

// octave returns the range of a gap, in units.
func octave(gap float64) int {
	_, octave := math.Frexp(gap)
	return min(max(octave+octaves/2, 0), octaves-1)
}
