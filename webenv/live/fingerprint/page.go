package fingerprint

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// A Page is what is learnt of one page. Give it each copy by Observe, which reports what changed,
// and call Same where there is none because the server says that the page is the same. Where a
// second copy can be fetched within seconds, give it that by Teach: what differs then is noise.
// MarshalBinary saves the page. The zero value is a page of which no copy has been seen.
//
// # Guarantees
//
// A copy with the same bytes as the one before has not changed, but may be the one at which a change
// is reported late. An empty copy is a change, and so is the one after it; what was learnt before stays
// learnt. A block that was never seen, in a place that is not noisy, is a change at once.
// What replaces a block that was in five copies or more does not make its place noisy: on a page
// without noise each price is reported that stays for five polls.
//
// What it cannot see: changes of attributes, link targets, images, scripts and most punctuation;
// the order of the blocks; what scripts would render; and the second return to a text of the last 16
// copies that differed, unless it stayed for twelve copies (the first return is a change). Text that
// changes in place at every poll, or twice within 16 polls after four polls or fewer each time, looks
// like a clock: set Numbers if it is what you are after.
//
// What it takes for changes: noise that stays for five copies or more. That is the date of the day
// on a page polled every hour, or a clock on a page that a cache keeps for five polls. Nothing but its
// meaning tells it from a price. And texts that rotate, where there are about as many of them as it
// remembers, or half as many: with one of 60 teasers at random in each of 8 places 41 % of the polls are
// false changes, with one of 40 in 4 places 14 %, with one of 200 in 8 places .1 %.
//
// # Cost
//
// Time: O(b log n) for b blocks, 0.1 ms for 500; Same O(n). Memory: 80 bytes and 12 for each block
// of the last 16 copies that differed, 8 for each noisy place: on real pages 1.5 KB in the median, 4.7
// at 90 %, 12.5 at 99 %, and up to 16 times 12 bytes more for each text that is there more than once.
// Up to a quarter more is spare room. At most 54 KB in all.
//
// # How it works
//
// A table holds the blocks of the last 16 copies whose bytes differed. A copy with the same bytes
// counts as one in which they have stayed, and so does Same. The second block with the same text is
// another block than the first, and so on up to 16. Of a text with more blocks their number is one
// block more, in a place of its own. The place of a block is the block before it that was in the copy
// before, too. Blocks that are new are changes, as are those that return for the
// first time and those that are gone after three copies. A place where a block of at most four copies
// is replaced by a new one gets a hit, and is noisy with two hits in 16 copies. Changes in a noisy
// place are masked, if they are no more blocks than were replaced there at once before. A masked block
// that stays for twelve copies is reported late, unless its copy was reported for others, and its
// place is no longer noisy. Where more than eight blocks are new there is no hit, unless so many are
// masked there: so much is no clock but a page that is made anew. A second copy makes each place noisy
// in which it differs, however many blocks do.
type Page struct {
	// Numbers says that the numbers of the page are its content: prices, counters, scores. A block
	// with a number is then never masked: digits alone or with letters on one side, as in 10kg.
	// It is saved with the page.
	Numbers bool

	copies uint8 // up to 255
	plain  bool  // the latest was compared byte by byte
	empty  bool  // the latest had no bytes
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
	width uint8  // the most blocks that were replaced at once, mostWidth for that and more
}

// The parameters of the algorithm are those that did best on 53,793 pairs of real copies of 263
// legal and help pages, most of which differed in their bytes, but for lateAfter, which was 6 there
// and did not count copies with the same bytes, and for what comes behind it. What they do to
// synthetic noise is measured by go test ./webenv/live/fingerprint -run Noise -v.
const (
	forgetAfter = 16 // copies with other bytes of absence
	goneAfter   = 3  // copies after which the absence of a block is a change
	// shortRun is how many copies a replaced block was in at most, for a hit. With 5 instead of 4
	// a price that changes before every twentieth poll is missed in 4.9 % of its changes, not 2.8 %;
	// a clock that stands still at half of the polls is reported at 7.8 % of them, not 8.1 %.
	shortRun  = 4
	noisyHits = 2 // hits in the 16 bits of place.hits
	// lateAfter is how many copies a block has to stay for to be content, whatever it was taken for
	// before: a masked one is reported, and one that came back may be missed again. Of a clock that
	// stands still in half of the copies a text is in 12 copies once in 2,000 times.
	lateAfter = 12
	// mostAlike is the most blocks with the same text that are told apart. Those behind them are counted.
	mostAlike = 16
	// mostNoise is the most new blocks in a place for it to be noisy. Noise on real pages was one
	// or two blocks; front pages of newspapers replace dozens.
	mostNoise = 8
	mostWidth = math.MaxUint8
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
	// Late says that all that changed had done so in copies before, and was taken for noise.
	Late bool
	// Again advises to fetch the page once more within seconds and to give that copy to
	// [Page.Teach]: at the first copy, and when a page has changed at every copy.
	Again bool
}

// Changed reports whether anything changed.
func (f Finding) Changed() bool { return f.Body || f.Minor }

// join adds another finding.
func (f *Finding) join(other Finding) {
	f.Body = f.Body || other.Body
	f.Minor = f.Minor || other.Minor
}

// add adds the change of a block with the given flags.
func (f *Finding) add(flags uint8) {
	f.Body = f.Body || flags&inBody != 0
	f.Minor = f.Minor || flags&inBody == 0
}

// has reports whether there is a change of the kind of a block with the given flags.
func (f *Finding) has(flags uint8) bool {
	return flags&inBody != 0 && f.Body || flags&inBody == 0 && f.Minor
}

// Observe compares a copy with those before, and learns.
func (p *Page) Observe(c *Copy) Finding {
	f, _ := p.observe(c, false)
	if f.First {
		p.patience = firstPatience
		f.Again = !p.plain
		return f
	}
	if !f.Body || p.plain { // bytes have no places to learn
		p.streak = 0
		return f
	}
	if p.streak++; p.streak >= p.patience {
		f.Again = true
		p.streak = 0
		p.patience = min(mostPatience, 2*p.patience)
	}
	return f
}

// Same notes a poll that found the page as it was, such as an answer 304. It counts like a copy with
// the same bytes: the blocks have stayed for one more copy. It reports the changes that were taken
// for noise until then.
func (p *Page) Same() (f Finding) {
	p.streak = 0
	if p.copies == 0 || p.empty {
		return f
	}
	p.copies = min(p.copies, 254) + 1
	for i := range p.entries {
		if e := &p.entries[i]; e.run > 0 {
			e.flags |= here
		}
	}
	p.step(&changes{same: true}, false, &f)
	return f
}

// Teach learns from a second copy, fetched within seconds of the latest one observed: every place
// in which they differ is noisy at once. That they do not differ teaches nothing, as most clocks do
// not show seconds. It does nothing before the first copy, or with a copy that cannot be compared
// with the latest.
func (p *Page) Teach(c *Copy) {
	c.finish()
	if p.copies == 0 || p.empty || c.plain() != p.plain {
		return
	}
	if _, differs := p.observe(c, true); differs {
		p.patience = firstPatience
	}
}

// scratch is what observe needs while it runs.
type scratch struct {
	changes
	alike alike
	many  []block // those behind the first mostAlike with their text
}

// changes are how a copy differs from the table, both by place.
type changes struct {
	same  bool    // there is no copy, as the page is the same
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
		if !teach {
			f = p.Same()
		}
		return f, false
	}
	f.First = p.copies == 0
	f.Body = p.empty // who keeps copies has the empty one
	p.sum = sum
	if p.empty = c.size == 0; p.empty && !f.First && !p.plain {
		f.Body = true // and what was learnt is kept
		return f, false
	}
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
	if len(p.entries) == 0 {
		p.keep(&s.changes, teach)
		return f, false
	}
	differs = p.differs(&s.changes)
	p.step(&s.changes, teach, &f)
	return f, differs
}

// step judges a copy, and learns.
func (p *Page) step(s *changes, teach bool, f *Finding) {
	for i := range p.places {
		p.places[i].hits <<= 1
	}
	if !teach {
		p.judge(s, f)
	}
	p.learn(s, teach)
	p.keep(s, teach)
}

// entry returns the index of a block in the table.
func (p *Page) entry(hash uint32) (int, bool) {
	return slices.BinarySearchFunc(p.entries, hash, func(e entry, h uint32) int { return cmp.Compare(e.hash, h) })
}

// alike counts the blocks of a copy by their text: a hash table with open addresses, in which
// there is place for twice as many blocks as a copy may have.
type alike struct {
	hash   [2 * maxBlocks]uint32
	blocks [2 * maxBlocks]uint16
}

// count counts a block and returns how many with the same text came before it.
func (a *alike) count(hash uint32) int {
	i := a.slot(hash)
	a.hash[i] = hash
	a.blocks[i]++
	return int(a.blocks[i] - 1)
}

// total returns how many blocks with a text were counted.
func (a *alike) total(hash uint32) int { return int(a.blocks[a.slot(hash)]) }

// slot returns where a text is, or is to be.
func (a *alike) slot(hash uint32) uint32 {
	i := hash % uint32(len(a.hash))
	for a.hash[i] != hash && a.hash[i] != 0 {
		i = (i + 1) % uint32(len(a.hash))
	}
	return i
}

// nth returns the hash of a block before which n with the same text came.
func nth(hash uint32, n int) uint32 {
	if n == 0 {
		return hash
	}
	return mix(uint64(hash)*fnvPrime + uint64(n))
}

// theirNumber stands for no block, so that no block has the place of the number of those with a text.
const theirNumber = -1

// find marks the blocks of the copy that are in the table, collects the others, and gives all their
// places.
func (p *Page) find(blocks []block, s *scratch) {
	s.fresh, s.gone, s.many = s.fresh[:0], s.gone[:0], s.many[:0]
	s.alike = alike{}
	before := uint32(0) // the nearest stable block
	for _, b := range blocks {
		n := s.alike.count(b.hash)
		var stable bool
		if n < mostAlike {
			stable = p.mark(entry{hash: nth(b.hash, n), place: before, flags: b.flags}, s)
		} else {
			stable = p.manyBefore(b.hash)
			s.many = append(s.many, b)
		}
		if stable {
			before = nth(b.hash, n)
		}
	}
	for _, b := range s.many { // as one block, which is another when their number is
		e := entry{hash: nth(b.hash, s.alike.total(b.hash)-1), place: nth(b.hash, theirNumber), flags: b.flags}
		if !p.manyBefore(b.hash) {
			e.flags |= returned // the last that is told apart is new, too, and says what there is to say
		}
		p.mark(e, s)
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

// mark marks a block of the copy in the table, or collects it. It reports whether the block is stable:
// it was in the copy before. In the first copy all are.
func (p *Page) mark(b entry, s *scratch) (stable bool) {
	i, known := p.entry(b.hash)
	if !known {
		s.fresh = append(s.fresh, b)
		return len(p.entries) == 0
	}
	e := &p.entries[i]
	if e.flags&here == 0 {
		e.place = b.place
		e.flags = e.flags&^(inBody|hasNumber) | b.flags | here
	} else {
		e.flags |= b.flags
	}
	return e.run > 0
}

// manyBefore reports whether the copy before had as many blocks with a text as are told apart.
func (p *Page) manyBefore(hash uint32) bool {
	i, known := p.entry(nth(hash, mostAlike-1))
	return known && p.entries[i].run > 0 || len(p.entries) == 0
}

// differs reports whether the copy has other blocks than the one before.
func (p *Page) differs(s *changes) bool {
	returns := func(e entry) bool { return e.flags&here != 0 && e.run == 0 }
	return len(s.fresh) > 0 || len(s.gone) > 0 || slices.ContainsFunc(p.entries, returns)
}

// place returns the index of a place.
func (p *Page) place(hash uint32) (int, bool) {
	return slices.BinarySearchFunc(p.places, hash, func(v place, h uint32) int { return cmp.Compare(v.hash, h) })
}
