package binpack

import (
	"github.com/recrawl/recrawl/internal/codec"
)

// Errors of saved state.
var (
	// ErrCorrupt reports data that is truncated, altered or of another type.
	ErrCorrupt = codec.ErrCorrupt
	// ErrVersion reports data written by a later version.
	ErrVersion = codec.ErrVersion
	// ErrSource reports a source of randomness that cannot be saved: neither
	// *rand.PCG nor *rand.ChaCha8.
	ErrSource = codec.ErrSource
)

const (
	schemeMagic   = "recrawl/binpack.Scheme"
	schemeVersion = 1
)

// AppendBinary appends the state of the scheme, its source included, to b.
func (s *Scheme) AppendBinary(b []byte) ([]byte, error) {
	e := codec.NewEncoder(b, schemeMagic, schemeVersion)
	c := s.cfg
	e.Float64(c.Capacity)
	e.Int(c.States)
	e.Float64(c.Lambda)
	e.Ints([]int{c.InitialState, c.Register, c.OverloadStates, c.Threshold, c.DecreaseStep})
	e.Byte(byte(c.Walk))
	e.Source(s.src)
	e.Ints(s.first)
	e.Uint16s(s.state)
	e.Uint64s(s.register)
	e.Uint64s(s.pending)
	e.Ints(s.bin)
	e.Ints(s.alarm)
	e.Ints([]int{s.slot.Polls, s.slot.Changed})
	return e.Finish()
}

// MarshalBinary returns the state of the scheme, its source included.
func (s *Scheme) MarshalBinary() ([]byte, error) { return s.AppendBinary(nil) }

// UnmarshalBinary restores a scheme, which goes on as the saved one would have,
// answers that are due included. If it fails nothing changes.
func (s *Scheme) UnmarshalBinary(data []byte) error {
	d, err := codec.NewDecoder(data, schemeMagic, schemeVersion)
	if err != nil {
		return err
	}
	r := &Scheme{}
	r.cfg.Capacity, r.cfg.States, r.cfg.Lambda = d.Float64(), d.Int(), d.Float64()
	settings := d.Ints()
	r.cfg.Walk = PageWalk(d.Byte())
	r.src = d.Source()
	r.first = d.Ints()
	state, register, pending := d.Uint16s(), d.Uint64s(), d.Uint64s()
	r.bin, r.alarm = d.Ints(), d.Ints()
	counts := d.Ints()
	if err := d.Done(); err != nil {
		return err
	}
	if len(settings) != 5 || len(counts) != 2 || len(r.first) < 2 || r.first[0] != 0 || r.src == nil {
		d.Fail("settings %v, counts %v, %d sites", settings, counts, len(r.first)-1)
		return d.Err()
	}
	r.cfg.InitialState, r.cfg.Register, r.cfg.OverloadStates = settings[0], settings[1], settings[2]
	r.cfg.Threshold, r.cfg.DecreaseStep = settings[3], settings[4]
	if err := r.configure(); err != nil {
		d.Fail("%v", err)
		return d.Err()
	}
	pages := r.first[len(r.first)-1]
	for i := 1; i < len(r.first); i++ {
		if r.first[i] < r.first[i-1] {
			d.Fail("site %d ends at page %d", i-1, r.first[i])
			return d.Err()
		}
	}
	if len(state) != pages || len(register) != pages || len(pending) != (pages+63)/64 || len(r.bin) != len(r.first)-1 {
		d.Fail("%d pages, %d states, %d registers", pages, len(state), len(register))
		return d.Err()
	}
	r.allocate()
	r.register, r.pending = register, pending
	for p, st := range state {
		if st < 1 || int(st) > r.cfg.States {
			d.Fail("state %d of page %d", st, p)
			return d.Err()
		}
		r.weight[r.siteOf[p]] += r.amount[st-1]
	}
	r.state = state
	for i, b := range r.bin {
		if b < 0 || b >= len(r.alarm) {
			d.Fail("site %d in bin %d of %d", i, b, len(r.alarm))
			return d.Err()
		}
	}
	for b, a := range r.alarm {
		if a < r.cfg.Threshold || a > r.cfg.OverloadStates {
			d.Fail("automaton of bin %d in state %d", b, a)
			return d.Err()
		}
	}
	r.slot.Polls, r.slot.Changed = counts[0], counts[1]
	*s = *r
	return nil
}
