package shard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/recrawl/recrawl/internal/codec"
)

var stateFormat = codec.Format{Magic: "recrawl/crawl.State", Version: 1}

// MarshalBinary returns the state. Polls in flight are not part of it.
func (s *State) MarshalBinary() ([]byte, error) {
	learner, err := s.Learner.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return stateFormat.Save(func(e *codec.Encoder) {
		e.Bytes(learner)
		s.Totals.encode(e)
		putTime(e, s.Latest)
		hosts := make([]*Host, 0, len(s.hosts))
		for _, h := range s.hosts {
			hosts = append(hosts, h)
		}
		slices.SortFunc(hosts, func(a, b *Host) int { return strings.Compare(a.Name, b.Name) })
		number := make(map[*Host]int, len(hosts))
		e.Int(len(hosts))
		for i, h := range hosts {
			number[h] = i
			h.encode(e)
		}
		e.Int(len(s.pages))
		for _, p := range s.pages {
			p.encode(e, number[p.Host])
		}
	})
}

// UnmarshalBinary restores a state, into one of the same type of learner. If it fails nothing but
// the learner has changed, which must not be used then.
func (s *State) UnmarshalBinary(data []byte) error {
	to := &State{Learner: s.Learner, vetoes: s.vetoes, pages: map[string]*Page{}, hosts: map[string]*Host{}}
	var learner []byte
	err := codec.Load(&to, stateFormat, data, func(v **State, d *codec.Decoder) {
		*v = to
		learner = d.Bytes()
		to.Totals.decode(d)
		to.Latest = getTime(d)
		hosts := make([]*Host, 0, d.Count(1))
		for range cap(hosts) {
			h := &Host{}
			h.decode(d)
			hosts = append(hosts, h)
			to.hosts[h.Name] = h
		}
		for range d.Count(1) {
			p := &Page{}
			p.decode(d, hosts)
			to.pages[p.URL] = p
			to.staged[p.Stage]++
			to.weights += p.weigh()
		}
	})
	if err != nil {
		return err
	}
	if err := s.Learner.UnmarshalBinary(learner); err != nil {
		return fmt.Errorf("learner: %w", err)
	}
	*s = *to
	return nil
}

func (t *Totals) encode(e *codec.Encoder) {
	e.Uint64s([]uint64{t.Polls, t.Learnt, t.Changes, t.First, t.Failures, t.Vetoes, t.Forbidden, t.Bytes})
}

func (t *Totals) decode(d *codec.Decoder) {
	if v := d.Uint64sLen(8); len(v) == 8 {
		*t = Totals{v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7]}
	}
}

func (h *Host) encode(e *codec.Encoder) {
	e.Bytes([]byte(h.Name))
	e.Float64(h.Delay)
	e.Bool(h.Paused)
	e.Int(h.Pages)
	h.Totals.encode(e)
	e.Bool(h.grouped)
	e.Int(h.group)
	e.Int(h.vetoes)
}

func (h *Host) decode(d *codec.Decoder) {
	h.Name = string(d.Bytes())
	h.Delay = d.NonNegative()
	h.Paused = d.Bool()
	h.Pages = d.Int()
	h.Totals.decode(d)
	h.grouped = d.Bool()
	h.group = d.Int()
	h.vetoes = d.Int()
}

func (p *Page) encode(e *codec.Encoder, host int) {
	e.Bytes([]byte(p.URL))
	e.Uint32(uint32(host))
	settings := p.weight != 0 || p.shortest != 0 || p.longest != 0
	e.Byte(byte(p.Stage))
	e.Bool(settings)
	if settings {
		e.Float64s([]float64{p.weight, p.shortest, p.longest})
	}
	for _, b := range [][]byte{p.copy, p.learnt, p.history} {
		e.Bytes(b)
	}
}

func (p *Page) decode(d *codec.Decoder, hosts []*Host) {
	p.URL = string(d.Bytes())
	host := int(d.Uint32())
	if d.Require(host < len(hosts), "page of host %d", host); host < len(hosts) {
		p.Host = hosts[host]
	}
	p.Stage = Stage(d.ByteIn(0, byte(stages)-1))
	if d.Bool() {
		if f := d.Float64sIn(3, 0, 1e300); len(f) == 3 {
			p.weight, p.shortest, p.longest = f[0], f[1], f[2]
		}
	}
	for _, b := range []*[]byte{&p.copy, &p.learnt, &p.history} {
		if v := d.Bytes(); len(v) > 0 {
			*b = v
		}
	}
	d.Require(len(p.history)%memorySize == 0, "history of %d bytes", len(p.history))
}
