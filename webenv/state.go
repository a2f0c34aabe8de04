package webenv

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
)

const (
	magicMemoryless = "webenv.Memoryless"
	magicZipf       = "webenv.Zipf"
	magicBursty     = "webenv.Bursty"
)

// AppendBinary appends the state to b; see MarshalBinary.
func (m *Memoryless) AppendBinary(b []byte) ([]byte, error) {
	e := codec.NewEncoder(b, magicMemoryless, 1)
	e.Float64s(m.rates)
	e.Float64s(m.last)
	e.Byte(byte(m.law))
	e.Float64(m.shift)
	e.Source(m.rng.src)
	return e.Finish()
}

// MarshalBinary returns the state, with that of the source of randomness, which
// must be *rand.PCG or *rand.ChaCha8, else the error is [ErrSource].
func (m *Memoryless) MarshalBinary() ([]byte, error) { return m.AppendBinary(nil) }

// UnmarshalBinary restores what MarshalBinary returned. The environment then
// continues bit for bit. On an error it is left as it was.
func (m *Memoryless) UnmarshalBinary(data []byte) error {
	d, err := codec.NewDecoder(data, magicMemoryless, 1)
	if err != nil {
		return err
	}
	s := Memoryless{rates: d.Float64s(), last: d.Float64s(), law: SlotLaw(d.Byte()), shift: d.Float64()}
	s.rng = restored(d)
	if len(s.rates) == 0 || len(s.rates) != len(s.last) {
		d.Fail("%d rates and %d times", len(s.rates), len(s.last))
	}
	for i := range min(len(s.rates), len(s.last)) {
		if !(s.rates[i] >= 0) || !isTime(s.last[i]) {
			d.Fail("page %d has rate %v and time %v", i, s.rates[i], s.last[i])
		}
	}
	if s.law.check() != nil || !isTime(s.shift) || s.shift != math.Floor(s.shift) {
		d.Fail("law %d, shift %v", s.law, s.shift)
	}
	if err := d.Done(); err != nil {
		return err
	}
	*m = s
	return nil
}

// AppendBinary appends the state to b; see MarshalBinary.
func (z *Zipf) AppendBinary(b []byte) ([]byte, error) {
	e := codec.NewEncoder(b, magicZipf, 1)
	e.Int(z.cfg.Pages)
	e.Float64(z.cfg.Alpha)
	e.Float64(z.cfg.Beta)
	e.Byte(byte(z.cfg.Law))
	e.Int(z.cfg.SwapEvery)
	e.Float64s(z.time)
	e.Uint32s(z.rank)
	e.Int(z.polls)
	e.Float64(z.now)
	e.Source(z.rng.src)
	return e.Finish()
}

// MarshalBinary returns the state, with that of the source of randomness, which
// must be *rand.PCG or *rand.ChaCha8, else the error is [ErrSource].
func (z *Zipf) MarshalBinary() ([]byte, error) { return z.AppendBinary(nil) }

// UnmarshalBinary restores what MarshalBinary returned. The environment then
// continues bit for bit. On an error it is left as it was.
func (z *Zipf) UnmarshalBinary(data []byte) error {
	d, err := codec.NewDecoder(data, magicZipf, 1)
	if err != nil {
		return err
	}
	cfg := ZipfConfig{Pages: d.Int(), Alpha: d.Float64(), Beta: d.Float64(), Law: SlotLaw(d.Byte()), SwapEvery: d.Int()}
	time, rank, polls, now := d.Float64s(), d.Uint32s(), d.Int(), d.Float64()
	rng := restored(d)
	if cfg.check() != nil || len(time) != cfg.Pages {
		d.Fail("%d times for %+v", len(time), cfg)
	}
	for i, t := range time {
		if !isTime(t) || cfg.SwapEvery > 0 && t > now {
			d.Fail("page %d has time %v", i, t)
		}
	}
	if !isTime(now) || polls < 0 || polls > 0 && polls >= cfg.SwapEvery {
		d.Fail("time %v, %d polls", now, polls)
	}
	if cfg.SwapEvery == 0 && len(rank) != 0 || cfg.SwapEvery > 0 && len(rank) != len(time) {
		d.Fail("%d ranks for %+v", len(rank), cfg)
	}
	// Only now is the number of pages known to be that of the data.
	if err := d.Err(); err != nil {
		return err
	}
	s := newZipf(cfg, rng)
	s.time, s.polls, s.now = time, polls, now
	taken := make([]bool, len(rank))
	for i, r := range rank {
		k := int(r &^ changedBit)
		if k >= len(rank) || taken[k] {
			d.Fail("page %d has rank %d", i, k)
			break
		}
		taken[k] = true
		s.rank[i], s.page[k] = r, uint32(i)
	}
	if err := d.Done(); err != nil {
		return err
	}
	*z = *s
	return nil
}

// AppendBinary appends the state to b; see MarshalBinary.
func (b *Bursty) AppendBinary(to []byte) ([]byte, error) {
	e := codec.NewEncoder(to, magicBursty, 1)
	e.Float64s([]float64{b.burst.Quiet, b.burst.Active, b.burst.QuietStay, b.burst.ActiveStay})
	e.Float32s(b.rates)
	e.Float64s(b.last)
	for _, active := range b.active {
		e.Bool(active)
	}
	e.Source(b.rng.src)
	return e.Finish()
}

// MarshalBinary returns the state, with that of the source of randomness, which
// must be *rand.PCG or *rand.ChaCha8, else the error is [ErrSource].
func (b *Bursty) MarshalBinary() ([]byte, error) { return b.AppendBinary(nil) }

// UnmarshalBinary restores what MarshalBinary returned. The environment then
// continues bit for bit. On an error it is left as it was.
func (b *Bursty) UnmarshalBinary(data []byte) error {
	d, err := codec.NewDecoder(data, magicBursty, 1)
	if err != nil {
		return err
	}
	burst := d.Float64s()
	s := Bursty{rates: d.Float32s(), last: d.Float64s()}
	if len(burst) != 4 || len(s.rates) == 0 || len(s.rates) != len(s.last) {
		d.Fail("%d parameters, %d rates and %d times", len(burst), len(s.rates), len(s.last))
		return d.Err()
	}
	s.burst = Burst{burst[0], burst[1], burst[2], burst[3]}
	if s.burst.check() != nil {
		d.Fail("%+v", s.burst)
	}
	s.active = make([]bool, len(s.rates))
	for i, rate := range s.rates {
		s.active[i] = d.Bool()
		if !s.burst.fits(rate) || !isTime(s.last[i]) {
			d.Fail("page %d has rate %v and time %v", i, rate, s.last[i])
		}
	}
	s.rng = restored(d)
	if err := d.Done(); err != nil {
		return err
	}
	*b = s
	return nil
}

// isTime tells whether a simulated environment can have reached time t.
func isTime(t float64) bool { return t >= 0 && t <= math.MaxFloat64 }

// restored reads a source of randomness.
func restored(d *codec.Decoder) random {
	src := d.Source()
	if src == nil {
		d.Fail("no source of randomness")
		return random{}
	}
	return newRandom(src)
}
