package shard

import (
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/recrawl/recrawl/examples/crawl/internal/input"
	"github.com/recrawl/recrawl/internal/codec"
)

var stateFormat = codec.Format{Magic: "recrawl/crawl.State", Version: 3}

// MarshalBinary returns the state, its pages in no particular order. Polls in flight are not part of
// it.
func (s *State) MarshalBinary() ([]byte, error) { return s.save(s.All()) }

func (s *State) save(pages iter.Seq[*Page]) ([]byte, error) {
	learner, err := s.Learner.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return stateFormat.Save(func(e *codec.Encoder) {
		e.Bytes(learner)
		s.Totals.encode(e)
		putTime(e, s.Latest)
		e.Bytes(s.Points)
		hosts := slices.SortedFunc(maps.Values(s.hosts), func(a, b *Host) int { return strings.Compare(a.Name, b.Name) })
		number := make(map[*Host]int, len(hosts))
		e.Int(len(hosts))
		for i, h := range hosts {
			number[h] = i
			h.encode(e)
		}
		e.Int(len(s.pages))
		for p := range pages {
			p.encode(e, number[p.Host])
		}
	})
}

// UnmarshalBinary restores a state, into one of the same type of learner. If it fails nothing has
// changed.
func (s *State) UnmarshalBinary(data []byte) error {
	before, err := s.Learner.MarshalBinary() // quick: states are restored into empty ones
	if err != nil {
		return err
	}
	loaded := false
	to := &State{Learner: s.Learner, vetoes: s.vetoes, pages: map[string]*Page{}, hosts: map[string]*Host{}}
	err = codec.Load(&to, stateFormat, data, func(v **State, d *codec.Decoder) {
		*v = to
		learner := d.Bytes()
		if to.decode(d); d.Err() != nil {
			return
		}
		if err := s.Learner.UnmarshalBinary(learner); err != nil {
			d.Fail("learner: %v", err)
			return
		}
		loaded = true
		if to.agree(d); d.Err() == nil {
			d.Check(errors.Join(to.respell(), to.vacateAll()))
		}
	})
	if err != nil {
		if loaded {
			err = errors.Join(err, s.Learner.UnmarshalBinary(before))
		}
		return err
	}
	*s = *to
	return nil
}

// decode reads all but the learner.
func (s *State) decode(d *codec.Decoder) {
	s.Totals.decode(d)
	s.Latest = getTime(d)
	s.Points = d.Bytes()
	hosts := make([]*Host, 0, d.Count(1))
	for range cap(hosts) {
		h := &Host{}
		h.decode(d)
		d.Require(s.hosts[h.Name] == nil, "host %q is there twice", h.Name)
		hosts = append(hosts, h)
		s.hosts[h.Name] = h
	}
	pages := make(map[*Host]int, len(hosts))
	for range d.Count(1) {
		p := &Page{}
		if p.decode(d, hosts); d.Err() != nil {
			return
		}
		d.Require(s.pages[p.URL] == nil, "page %q is there twice", p.URL)
		s.pages[p.URL] = p
		s.staged[p.Stage]++
		s.weights += p.weigh()
		p.Host.all++
		if p.Stage.counts() {
			pages[p.Host]++
		}
	}
	for _, h := range hosts {
		d.Require(h.Pages == pages[h], "host %q of %d pages has %d", h.Name, h.Pages, pages[h])
	}
}

// agree requires that the learner has the pages that are crawled, and no others.
func (s *State) agree(d *codec.Decoder) {
	n := 0
	for url := range s.Learner.All() {
		p := s.pages[url]
		d.Require(p != nil && p.Stage == Crawled, "the learner has page %q", url)
		n++
	}
	d.Require(n == s.staged[Crawled], "the learner has %d of %d pages", n, s.staged[Crawled])
}

// respell gives pages that an earlier version saved the URLs by which they are known now. Of two that are
// one now, one stays.
func (s *State) respell() error {
	var old []*Page
	for _, p := range s.pages {
		if input.Respell(p.URL) != p.URL {
			old = append(old, p)
		}
	}
	slices.SortFunc(old, func(a, b *Page) int { return strings.Compare(a.URL, b.URL) })
	for _, p := range old {
		if err := s.rename(p, input.Respell(p.URL)); err != nil {
			return err
		}
	}
	return nil
}

// rename gives a page another URL, with what was learnt of it. What is remembered of its copy is about
// the URL before, and the next poll takes a first copy.
func (s *State) rename(p *Page, url string) error {
	if s.pages[url] != nil {
		return s.remove(p, s.Latest)
	}
	learns := p.Stage == Crawled
	if learns {
		if err := s.bar(p); err != nil {
			return err
		}
	}
	delete(s.pages, p.URL)
	p.URL, p.copy = url, nil
	s.pages[url] = p
	if learns {
		return s.enter(p)
	}
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
	e.Float64(h.until)
}

func (h *Host) decode(d *codec.Decoder) {
	h.Name = string(d.Bytes())
	h.Delay = d.NonNegative()
	h.Paused = d.Bool()
	h.Pages = d.IntIn(0, codec.MostCount)
	h.Totals.decode(d)
	h.grouped = d.Bool()
	h.group = d.Int()
	h.vetoes = d.IntIn(0, codec.MostCount)
	h.until = d.NonNegative()
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
		if f := d.Float64sIn(3, 0, mostSetting); len(f) == 3 {
			p.weight, p.shortest, p.longest = f[0], f[1], f[2]
		}
	}
	for _, b := range []*[]byte{&p.copy, &p.learnt, &p.history} {
		if v := d.Bytes(); len(v) > 0 {
			*b = v
		}
	}
	d.Require(len(p.history)%memorySize == 0 && len(p.history) <= memories*memorySize, "history of %d bytes", len(p.history))
	d.Require(p.learnt == nil || p.Stage == Barred, "page %q is %v, and waits", p.URL, p.Stage)
}
