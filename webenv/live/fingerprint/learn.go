package fingerprint

import (
	"cmp"
	"math/bits"
	"slices"
)

// noisy reports whether a place is so noisy that n changes in it at once are masked.
func (p *Page) noisy(place uint32, n int) bool {
	i, ok := p.place(place)
	if !ok {
		return false
	}
	v := &p.places[i]
	return bits.OnesCount16(v.hits) >= noisyHits && (n <= int(v.width) || v.width == mostWidth)
}

// loud reports whether changes of a block are never masked.
func (p *Page) loud(flags uint8) bool { return p.Numbers && flags&hasNumber != 0 }

// judge reports the changes.
func (p *Page) judge(s *changes, f *Finding) {
	p.findQuiet(s)
	for at, group := range groups(s.fresh) {
		place := group[0].place
		quiet := p.noisy(place, len(group)+s.noise(place))
		for i := range group {
			e := &s.fresh[at+i]
			switch {
			case e.flags&returned != 0:
			case (quiet || s.quiet[e.kind]) && !p.loud(e.flags):
				e.flags |= masked
			default:
				f.add(e.flags)
			}
		}
	}
	for _, group := range groups(s.gone) {
		place := group[0].place
		quiet := p.noisy(place, len(group)+len(s.stayed.at(place)))
		for _, e := range group {
			known := e.flags&(returned|masked) != 0
			masks := quiet || s.quiet[e.kind] && p.passing(e)
			if e.run >= min(goneAfter, p.copies-1) && !known && (!masks || p.loud(e.flags)) {
				f.add(e.flags)
			}
		}
	}
	var late Finding
	for _, e := range p.entries {
		switch {
		case e.flags&here == 0:
		case e.run == 0: // the block returns
			if e.flags&(returned|masked) == 0 && !p.noisy(e.place, 1) && !s.quiet[e.kind] || p.loud(e.flags) {
				f.add(e.flags)
			}
		case s.late(e):
			late.add(e.flags)
		}
	}
	f.Late = late.Changed() && !f.Changed()
	f.join(late)
	for i := range s.fresh { // a masked block of a copy that is reported anyway need not be reported late
		if e := &s.fresh[i]; e.flags&masked != 0 && f.has(e.flags) {
			e.flags = e.flags&^masked | returned | noise // but may come and go as before
		}
	}
}

// late reports whether a masked block has stayed for too long to be noise, in a place where most blocks of
// its kind are not.
func (s *changes) late(e entry) bool {
	return e.flags&(here|masked) == here|masked && e.stays() && !s.noisy[e.kind]
}

// stays reports whether a block has stayed for long, counting this copy.
func (e *entry) stays() bool { return e.run >= lateAfter-1 }

// groups yields the runs of entries of the same place, with the index of the first entry of each.
func groups(entries []entry) func(yield func(int, []entry) bool) {
	return func(yield func(int, []entry) bool) {
		for i := 0; i < len(entries); {
			j := i + 1
			for j < len(entries) && entries[j].place == entries[i].place {
				j++
			}
			if !yield(i, entries[i:j]) {
				return
			}
			i = j
		}
	}
}

// learn gives hits to the places in which blocks of short runs were replaced by new ones, and to
// those that such blocks left as one had that came back, or for one that had been masked. It takes
// the hits from places in which a masked block has stayed. If teach is set, one replacement makes
// the place noisy, whatever the run.
func (p *Page) learn(s *changes, teach bool) {
	hits := uint16(1)
	if teach {
		hits = 1<<noisyHits - 1
	}
	fresh := s.fresh
	for _, group := range groups(s.gone) {
		place, replaced, by := group[0].place, 0, 0
		for _, e := range group {
			if teach || e.run <= shortRun && e.flags&here == 0 {
				replaced++
			}
		}
		for ; len(fresh) > 0 && fresh[0].place <= place; fresh = fresh[1:] {
			if fresh[0].place == place {
				by++
			}
		}
		before, now := replaced+len(s.stayed.at(place)), by+s.noise(place)
		switch {
		case replaced == 0, teach && by == 0:
		case teach:
			p.hit(place, hits, max(before, now))
		case by > mostNoise && !p.noisy(place, now): // more may be noisy after a second copy
		case by > 0, replaced <= mostNoise && len(s.rotating.at(place)) > 0: // events leave, too, but do not come back
			p.hit(place, hits, before)
		}
	}
	for i := range p.entries {
		if e := &p.entries[i]; s.late(*e) && !teach { // a second copy reports nothing
			e.flags &^= masked
			if k, ok := p.place(e.place); ok {
				p.places[k].hits = 0
			}
		}
	}
	p.places = slices.DeleteFunc(p.places, func(v place) bool { return v.hits == 0 })
}

func (p *Page) hit(hash uint32, hits uint16, width int) {
	i, ok := p.place(hash)
	if !ok {
		if len(p.places) >= maxPlaces {
			return
		}
		p.places = slices.Insert(p.places, i, place{hash: hash})
		if cap(p.places) > maxPlaces {
			p.places = append(make([]place, 0, maxPlaces), p.places...)
		}
	}
	v := &p.places[i]
	v.hits |= hits
	v.width = max(v.width, uint8(min(width, mostWidth)))
}

// keep updates the table with the copy. If teach is set, blocks that came or went are known to come
// and go.
func (p *Page) keep(s *changes, teach bool) {
	for i := range p.entries {
		e := &p.entries[i]
		switch now := e.flags&here != 0; {
		case now && e.run == 0:
			e.flags |= returned | noise
			if s.back.together(passer{e.place, e.gone}) {
				e.flags &^= noise
			}
			e.run, e.gone = 1, 0
		case now:
			if e.flags&noise != 0 && s.stayed.together(passer{e.place, e.run}) && !(s.same && p.random(e.place)) {
				e.flags &^= noise
			}
			e.run = min(e.run, 254) + 1
			if e.run >= lateAfter {
				e.flags &^= returned | noise
			}
			if e.run >= lastsAfter || e.run >= lateAfter && e.flags&masked == 0 {
				e.flags |= lasted
			}
		case !s.same:
			switch {
			case teach && e.run > 0:
				e.flags = e.flags&^lasted | returned | noise
			case e.run > shortRun:
				e.flags &^= noise // it is forgotten sooner, as a notice that is there at times
			}
			e.run = 0
			e.gone++
		}
		e.flags &^= here
		if p.json {
			e.kind = 0 // of a block of HTML; a page that is saved as JSON has none
		}
	}
	var rotating [numberOfKinds]int
	for _, e := range p.entries {
		if e.rotates() {
			rotating[e.kind]++
		}
	}
	p.entries = slices.DeleteFunc(p.entries, func(e entry) bool {
		if e.rotates() && rotating[e.kind] >= fewNoisy {
			return e.gone >= forgetRotating
		}
		return e.gone >= forgetAfter
	})
	for _, e := range s.fresh {
		e.run = 1
		if teach {
			e.flags |= returned | noise
		}
		p.entries = append(p.entries, e)
	}
	if n := len(p.entries) - maxEntries; n > 0 {
		slices.SortFunc(p.entries, func(a, b entry) int { return cmp.Or(cmp.Compare(b.gone, a.gone), cmp.Compare(a.hash, b.hash)) })
		p.entries = slices.Delete(p.entries, 0, n)
	}
	if cap(p.entries) > min(len(p.entries)+len(p.entries)/4+8, maxEntries) {
		p.entries = slices.Clone(p.entries)
	}
	slices.SortFunc(p.entries, func(a, b entry) int { return cmp.Compare(a.hash, b.hash) })
}

// random reports whether texts of a place were replaced more often than in one second copy. What came there
// together and is there at an answer 304, too, need not be another page.
func (p *Page) random(place uint32) bool {
	i, ok := p.place(place)
	return ok && bits.OnesCount16(p.places[i].hits) > noisyHits
}
