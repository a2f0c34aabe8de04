package fingerprint

import (
	"cmp"
	"slices"
	"sync"
)

// A Page is what is learnt of one page. Give it each copy by Observe, which reports what changed.
// Where a second copy can be fetched within seconds, give it that by Teach: what differs then is
// noise. MarshalBinary saves the page. The zero value is a page of which no copy has been seen.
//
// # Guarantees
//
// A copy with the same bytes as the one before has not changed. A block that was never seen, in
// a place that is not noisy, is a change at once.
//
// What it cannot see: changes of attributes, link targets, images, scripts and punctuation; what
// scripts would render; the second return to a text of the last 16 copies (the first is a
// change); and text that really changes in place at every copy, which looks like a clock.
//
// # Cost
//
// Time: O(b log n) for b blocks, 0.1 ms for 500. Memory: 80 bytes and 12 for each block of the last
// 16 copies, 8 for each noisy place: on real pages 1.5 KB in the median, 4.7 at 90 %, 12.5 at 99 %.
// At most 54 KB.
//
// # How it works
//
// A table holds the blocks of the last 16 copies whose bytes differed. The place of a block is the
// block before it that was in the copy before, too. Blocks that are new are changes, as are
// those that return for the first time and those that are gone after three copies. A place where
// a block of at most four copies is replaced by a new one gets a hit, and is noisy with two hits
// in 16 copies. Changes in a noisy place are masked, if they are no more blocks than were replaced
// there before. A masked block that stays for six copies is reported late, and its place is no
// longer noisy. Where more than eight blocks are new there is no hit: so much is no clock but a
// page that is made anew.
type Page struct {
	// Numbers says that the numbers of the page are its content: prices, counters, scores. A
	// block with a word of digits alone is then never masked. It is saved with the page.
	Numbers bool

	copies uint8 // with different bytes, up to 255
	plain  bool  // the latest was compared byte by byte
	// When a second copy is asked for: after streak changes in a row reach patience, which doubles
	// when the second copy had nothing to teach.
	streak, patience uint8

	sum     [16]byte // of the bytes of the latest copy
	entries []entry  // by hash
	places  []place  // by hash
}

// An entry is a block of the table.
type entry struct {
	hash  uint32
	place uint32 // hash of the nearest stable block before it, 0 if none
	run   uint8  // copies in a row that it has been in; 0 if it is gone
	gone  uint8  // copies that it has been gone for
	flags uint8
}

// Flags of an entry, besides those of a block.
const (
	returned uint8 = 1 << (iota + 2) // came back before
	masked                           // came in a noisy place and was not reported
	here                             // in the copy that is being looked at; not saved
	allFlags = inBody | hasNumber | returned | masked
)

// A place is where blocks were replaced lately.
type place struct {
	hash  uint32
	hits  uint16 // bit k: one, k copies ago
	width uint8  // the most blocks that replaced others at once
}

// The parameters of the algorithm are those that did best on 53,793 pairs of real copies of 263
// legal and help pages. What they do to synthetic noise is measured by
// go test ./webenv/live/fingerprint -run Noise -v.
const (
	forgetAfter = 16 // copies of absence
	goneAfter   = 3  // copies after which the absence of a block is a change
	shortRun    = 4  // copies that a replaced block was in at most, for a hit
	noisyHits   = 2  // hits in the 16 bits of place.hits
	lateAfter   = 6  // copies after which a masked block is reported
	// mostNoise is the most new blocks in a place for it to be noisy. Noise on real pages was one
	// or two blocks; front pages of newspapers replace dozens.
	mostNoise = 8
	// maxEntries and maxPlaces bound the memory. The blocks gone longest are forgotten first.
	maxEntries = 2 * maxBlocks
	maxPlaces  = 512
	// firstPatience is how many changes in a row are suspicious.
	firstPatience = 3
	mostPatience  = 96
)

// A Finding is what a copy of a page says. It is zero for a copy that does not differ from the one
// before, or only in noise.
type Finding struct {
	First bool // the first copy: there was nothing to compare it with
	Body  bool // the body of the page changed
	Minor bool // menus, headers, footers, forms or the title changed
	// Again advises to fetch the page once more within seconds and to give that copy to
	// [Page.Teach]: at the first copy, and when a page has changed at every copy.
	Again bool
}

// Changed reports whether anything changed.
func (f Finding) Changed() bool { return f.Body || f.Minor }

// add adds the change of a block with the given flags.
func (f *Finding) add(flags uint8) {
	f.Body = f.Body || flags&inBody != 0
	f.Minor = f.Minor || flags&inBody == 0
}

// Observe compares a copy with those before, and learns.
func (p *Page) Observe(c *Copy) Finding {
	f, _ := p.observe(c, false)
	if f.First {
		p.patience = firstPatience
		f.Again = !p.plain
		return f
	}
	if !f.Body {
		p.streak = 0
		return f
	}
	if p.streak++; p.streak >= p.patience && !p.plain {
		f.Again = true
		p.streak = 0
		p.patience = min(mostPatience, 2*p.patience)
	}
	return f
}

// Teach learns from a second copy, fetched within seconds of the latest one observed: every place
// in which they differ is noisy at once. It does nothing before the first copy.
func (p *Page) Teach(c *Copy) {
	if p.copies == 0 {
		return
	}
	if _, differs := p.observe(c, true); differs {
		p.patience = firstPatience
	}
}

// scratch is what observe needs while it runs.
type scratch struct {
	// Both by place.
	fresh []entry // blocks that are not in the table
	gone  []entry // blocks that were in the copy before and are not in this one
}

var pool = sync.Pool{New: func() any { return new(scratch) }}

// observe compares and learns. With teach everything that differs is noise. It reports whether
// blocks differ.
func (p *Page) observe(c *Copy, teach bool) (f Finding, differs bool) {
	c.finish()
	sum := c.sum()
	if p.copies > 0 && sum == p.sum {
		return f, false
	}
	f.First = p.copies == 0
	p.sum = sum
	p.copies = min(p.copies, 254) + 1
	if plain := c.plain(); plain || p.plain {
		f.Body = !f.First
		p.plain = plain
		p.entries, p.places, p.copies = nil, nil, 1
		if plain {
			return f, false
		}
	}
	s := pool.Get().(*scratch)
	defer pool.Put(s)
	p.find(c.text.blocks, s)
	first := len(p.entries) == 0
	differs = !first && p.differs(s)
	if !first {
		for i := range p.places {
			p.places[i].hits <<= 1
		}
		if !teach {
			p.judge(s, &f)
		}
		p.learn(s, teach)
	}
	p.keep(s, teach)
	return f, differs
}

// entry returns the index of a block in the table.
func (p *Page) entry(hash uint32) (int, bool) {
	return slices.BinarySearchFunc(p.entries, hash, func(e entry, h uint32) int { return cmp.Compare(e.hash, h) })
}

// find marks the blocks of the copy that are in the table, collects the others, and gives all their
// places.
func (p *Page) find(blocks []block, s *scratch) {
	s.fresh, s.gone = s.fresh[:0], s.gone[:0]
	before := uint32(0) // the nearest stable block
	for _, b := range blocks {
		i, known := p.entry(b.hash)
		if !known {
			s.fresh = append(s.fresh, entry{hash: b.hash, place: before, flags: b.flags})
			if len(p.entries) == 0 {
				before = b.hash
			}
			continue
		}
		e := &p.entries[i]
		if e.flags&here == 0 {
			e.place = before
			e.flags = e.flags&^(inBody|hasNumber) | b.flags | here
		} else {
			e.flags |= b.flags
		}
		if e.run > 0 {
			before = b.hash
		}
	}
	slices.SortStableFunc(s.fresh, func(a, b entry) int { return cmp.Compare(a.hash, b.hash) })
	merged := s.fresh[:0]
	for _, e := range s.fresh {
		if n := len(merged); n > 0 && merged[n-1].hash == e.hash {
			merged[n-1].flags |= e.flags
		} else {
			merged = append(merged, e)
		}
	}
	s.fresh = merged
	for _, e := range p.entries {
		if e.flags&here == 0 && e.run > 0 {
			s.gone = append(s.gone, e)
		}
	}
	byPlace := func(a, b entry) int { return cmp.Compare(a.place, b.place) }
	slices.SortStableFunc(s.fresh, byPlace)
	slices.SortStableFunc(s.gone, byPlace)
}

// differs reports whether the copy has other blocks than the one before.
func (p *Page) differs(s *scratch) bool {
	returns := func(e entry) bool { return e.flags&here != 0 && e.run == 0 }
	return len(s.fresh) > 0 || len(s.gone) > 0 || slices.ContainsFunc(p.entries, returns)
}

// place returns the index of a place.
func (p *Page) place(hash uint32) (int, bool) {
	return slices.BinarySearchFunc(p.places, hash, func(v place, h uint32) int { return cmp.Compare(v.hash, h) })
}
