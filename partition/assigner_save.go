package partition

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/ids"
)

const (
	assignerMagic   = "recrawl/Assigner"
	assignerVersion = 1
)

// AppendBinary appends the whole state, the source of randomness included, to b.
func (a *Assigner) AppendBinary(b []byte) ([]byte, error) {
	e := codec.NewEncoder(b, assignerMagic, assignerVersion)
	e.Float64(a.cfg.Threshold)
	e.Float64(a.cfg.Explore)
	a.arms.Encode(e)
	for j := range a.arm {
		for _, v := range a.arm[j].floats() {
			e.Float64(*v)
		}
		for _, v := range a.arm[j].ints() {
			e.Int(*v)
		}
	}
	e.Int(a.width)
	a.sites.Encode(e)
	s := &a.site
	e.Uint16s(s.at)
	for _, asked := range s.asked {
		e.Bool(asked)
	}
	e.Float32s(s.weight)
	for _, v := range s.floats() {
		e.Float32s(*v)
	}
	e.Bytes(s.repeats)
	e.Bytes(s.count)
	for _, v := range a.relative.floats() {
		e.Float64(*v)
	}
	e.Int(a.told)
	e.Source(a.src)
	return e.Finish()
}

// MarshalBinary returns the whole state.
func (a *Assigner) MarshalBinary() ([]byte, error) { return a.AppendBinary(nil) }

// UnmarshalBinary restores a saved state, which then continues bit for bit. An
// error leaves the receiver as it was.
func (a *Assigner) UnmarshalBinary(data []byte) error {
	d, err := codec.NewDecoder(data, assignerMagic, assignerVersion)
	if err != nil {
		return err
	}
	r := Assigner{cfg: AssignerConfig{Threshold: d.Float64(), Explore: d.Float64()}, arms: ids.Decode(d)}
	if cfg, err := r.cfg.withDefaults(0); err != nil || cfg.Threshold != r.cfg.Threshold {
		d.Fail("threshold %v, exploration %v", r.cfg.Threshold, r.cfg.Explore)
	}
	for range r.arms.Slots() {
		var m armState
		for _, v := range m.floats() {
			*v = d.Float64()
		}
		for _, v := range m.ints() {
			*v = d.Int()
		}
		if d.Err() != nil {
			return d.Err()
		}
		r.arm = append(r.arm, m)
	}
	r.width = d.Int()
	r.sites = ids.Decode(d)
	s := &r.site
	s.at = d.Uint16s()
	for range s.at {
		s.asked = append(s.asked, d.Bool())
	}
	s.weight = d.Float32s()
	for _, v := range s.floats() {
		*v = d.Float32s()
	}
	s.repeats, s.count = d.Bytes(), d.Bytes()
	for _, v := range r.relative.floats() {
		*v = d.Float64()
	}
	r.told = d.Int()
	if r.src = d.Source(); r.src == nil {
		d.Fail("no source of randomness")
	}
	if d.Err() == nil {
		r.checkState(d)
	}
	if err := d.Done(); err != nil {
		return err
	}
	*a = r
	return nil
}

func (s *siteState) floats() []*[]float32 {
	return []*[]float32{&s.held, &s.up, &s.down, &s.squares, &s.base}
}

func (r *relativeNoise) floats() []*float64 {
	return []*float64{&r.squares, &r.means, &r.n, &r.level, &r.firsts}
}

func (m *armState) floats() []*float64 {
	return []*float64{&m.capacity, &m.work, &m.measured, &m.forecast, &m.price, &m.priceStep,
		&m.excess, &m.denied, &m.step, &m.change}
}

func (m *armState) ints() []*int { return []*int{&m.sites, &m.low, &m.high, &m.atOpening, &m.answers} }

// checkState checks that the values of a decoded state do not contradict each other.
func (a *Assigner) checkState(d *codec.Decoder) {
	s := &a.site
	n := a.sites.Slots()
	if a.width < len(a.arm) || a.width >= nowhere || a.arms.Len() < 1 || a.told < 0 {
		d.Fail("%d arms of %d, %d answers", len(a.arm), a.width, a.told)
		return
	}
	if len(s.at) != n || len(s.held) != n || len(s.up) != n || len(s.down) != n || len(s.squares) != n ||
		len(s.repeats) != n || len(s.base) != n*a.width || len(s.count) != n*a.width || len(s.weight) != n && s.weight != nil {
		d.Fail("arrays of different lengths for %d sites", n)
		return
	}
	for _, list := range append(s.floats(), &s.weight) {
		for k, v := range *list {
			if !(v >= 0 && v <= math.MaxFloat32) {
				d.Fail("value %v at %d", v, k)
				return
			}
		}
	}
	sites := make([]int, len(a.arm))
	for slot, at := range s.at {
		switch {
		case at == nowhere:
			if s.asked[slot] {
				d.Fail("site %d asked from nowhere", slot)
			}
		case int(at) >= len(a.arm) || !a.arms.Live(int(at)) || !a.sites.Live(slot):
			d.Fail("site %d in arm %d", slot, at)
			return
		default:
			sites[at]++
		}
	}
	for j := range a.arm {
		m := &a.arm[j]
		if sites[j] != m.sites {
			d.Fail("%d sites in arm %d, %d counted", m.sites, j, sites[j])
		}
		for _, v := range m.floats() {
			if math.IsNaN(*v) || math.IsInf(*v, 0) && v != &m.capacity {
				d.Fail("value %v of arm %d", *v, j)
			}
		}
		if !(m.capacity > 0) || m.measured < 0 || m.forecast < 0 || m.price < 0 {
			d.Fail("arm %d of capacity %v, price %v", j, m.capacity, m.price)
		}
	}
	if r := a.relative; !(r.means > 0 && r.squares >= 0 && r.firsts >= 0 && r.level >= 0) {
		d.Fail("noise %v of %v", r.squares, r.means)
	}
}
