package rates

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
func (m *MLE) Page(slot int) Evidence { return &MLE{m.page[slot : slot+1]} }

// SetPage implements Evidence.
func (m *MLE) SetPage(slot int, page Evidence) { m.page[slot] = page.(*MLE).page[0] }
