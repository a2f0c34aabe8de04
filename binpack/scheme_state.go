package binpack

import (
	"math"
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
)

var schemeFormat = codec.Format{Magic: "recrawl/binpack.Scheme", Version: 1}

// MarshalBinary returns the state of the scheme, its source included.
func (s *Scheme) MarshalBinary() ([]byte, error) { return schemeFormat.Save(s.encode) }

// UnmarshalBinary restores a scheme, which then continues as the saved one would have, including
// answers that are still missing. If it fails, nothing changes.
func (s *Scheme) UnmarshalBinary(data []byte) error {
	return codec.Load(s, schemeFormat, data, (*Scheme).decode)
}

func (s *Scheme) encode(e *codec.Encoder) {
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
}

func (s *Scheme) decode(d *codec.Decoder) {
	c := &s.cfg
	c.Capacity, c.States, c.Lambda = d.Float64(), d.Int(), d.Float64()
	settings := d.IntsIn(5, 0, math.MaxInt32)
	c.Walk = codec.Enum[PageWalk](d, pageWalks.Len())
	s.src = d.NeedSource()
	s.first = d.IntsIn(codec.AnyLen, 0, math.MaxInt32)
	d.Require(len(s.first) > 1 && s.first[0] == 0 && slices.IsSorted(s.first), "pages of sites begin at %v", s.first)
	if d.Err() != nil {
		return
	}
	c.InitialState, c.Register, c.OverloadStates, c.Threshold, c.DecreaseStep = settings[0], settings[1], settings[2], settings[3], settings[4]
	if d.Check(s.configure()); d.Err() != nil {
		return
	}
	sites := len(s.first) - 1
	pages := s.first[sites]
	s.state = d.Uint16sIn(pages, uint16(c.States))
	s.register = d.Uint64sLen(pages)
	s.pending = d.Uint64sLen((pages + 63) / 64)
	s.bin = d.IntsIn(sites, 0, math.MaxInt32)
	s.alarm = d.IntsIn(codec.AnyLen, c.Threshold, c.OverloadStates)
	counts := d.IntsIn(2, 0, math.MaxInt32)
	if d.Err() != nil {
		return
	}
	d.Require(slices.Max(s.bin) < len(s.alarm), "a site in bin %d of %d", slices.Max(s.bin), len(s.alarm))
	s.number()
	for page, state := range s.state {
		if state == 0 {
			d.Fail("state 0 of page %d", page)
			return
		}
		s.weight[s.siteOf[page]] += s.amount[state-1]
	}
	for i := range sites { // a bin that fits at the lowest frequencies can be relieved
		least := int64(s.first[i+1]-s.first[i]) * s.amount[0]
		d.Require(least <= s.c, "site %d has no room in any bin", i)
	}
	s.slot.Polls, s.slot.Changed = counts[0], counts[1]
}
