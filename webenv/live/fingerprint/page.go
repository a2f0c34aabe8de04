package fingerprint

import (
	"cmp"
	"math"
	"slices"
	"sync"
)

// A Page is what is learnt about one page. Pass each copy to Observe, which reports what changed.
// Call Same instead if there is no copy because the server says that the page is the same. If you
// can fetch a second copy within seconds, pass that to Teach: every difference is then noise.
// MarshalBinary saves the page, and Clone copies it. The zero value is a page of which no copy has
// been seen.
//
// # Guarantees
//
// A copy with the same bytes as the one before has not changed, but a change may be reported late
// at it. An empty copy is a change, and so is the copy after it; what was learnt before is kept. So
// it is with a single copy that is compared byte by byte, such as an error page in plain text. A
// block that was never seen is a change at once if neither its place nor its kind is noisy. A block
// that replaces one that was in five copies or more does not make the place noisy. So on a page
// without noise, every price that stays for five polls is reported.
//
// In JSON only values that look like times or identifiers are ever taken for noise ([Copy]). Every
// change of another value is a change at once. One in a second copy is reported at the next copy.
// Numbers is only about times in numbers; compare a page byte by byte if its other times and its
// identifiers are what you are after, such as the hash of a commit.
//
// What it cannot see:
//
//   - changes of attributes, link targets, images, scripts and most punctuation in HTML;
//   - the order of the blocks;
//   - what scripts would render;
//   - the second return to a text of the last 16 copies that differed, and further ones to a text of the
//     last 32 that is like an advertisement (below), unless the text stayed for twelve copies (the first
//     return is a change);
//   - text that changes in place at every poll, or twice within 16 polls after four polls or fewer
//     each time. It looks like a clock. Set Numbers if it is what you are after;
//   - text of a list where half of the blocks of its kind (below) change by themselves, unless it was
//     there for twelve copies, or for 36 if it was masked when it came: a new price, where half of the
//     prices of the list are others at every poll;
//   - changes behind the first 2,048 blocks of a copy, in a group of blocks with noise ([Copy]).
//
// What it reports although it is noise:
//
//   - Noise that stays for five copies or more, such as the date on a page that is polled every
//     hour, or a clock on a page that a cache keeps for five polls. Only its meaning distinguishes
//     it from a price.
//   - Noise right behind a block that was edited, at up to three more copies, because its place is
//     new. An example is the view counter of a thread, behind each new reply.
//   - Texts that rotate, while their places are being learnt. Afterwards, with one of 20 random
//     teasers in each of 8 places, 3 % of the polls are false changes, with one of 60 .3 %. With one
//     of 20 advertisements now in one of four places and now in another, 24 % are.
//   - Counters of lists that seldom change, and ages. With a counter at each of 15 items, which changes
//     at half of the polls, 5 % of the polls are false changes after the first six. With the age of each,
//     which changes at a quarter of them, 19 % are.
//
// # Cost
//
// Time: O((b + n) log n) for a copy of b blocks, where n is the number of blocks remembered; 0.1 ms
// for 500 blocks. O(n) for Same.
//
// Memory: 80 bytes, 12 for each block of the table, and 8 for each noisy place. On real pages that is
// 1.5 KB in the median, 4.7 KB at 90 % and 12.5 KB at 99 %. A text that occurs more than once takes up
// to 16 times 12 bytes more. Up to a quarter more is spare room. The total is at most 58 KB.
//
// # How it works
//
// The table: it holds the blocks of the last 16 copies whose bytes differed, and of the last 32 those like
// advertisements: at least three of a kind (below), without a number, that came back and left again after
// four copies or fewer, or were in one of two copies only. In a copy with the same bytes, and in a call
// of Same, all blocks count as having stayed. If several blocks have the same text, up to 16 of them are
// separate blocks. If there are more, their number counts as one more block, in a place of its own. The
// place of a block is the nearest block before it that was also in the copy before and is not known to
// come and go. Nor is it a block that came to a noisy place at most four copies ago, and had not been
// there before. Known to come and go are blocks in noisy places that were masked when they came, or came
// back, or were in one of two copies fetched within seconds. They are no longer if more than eight of a
// place came at once, or had left it at once, and all are there again: then there was another page in
// between. That the page is the same once more does not count if the place had three hits or more.
//
// Changes: a block that is new is a change. So is a block that returns for the first time, and a
// block that is gone after it was in at least three copies in a row.
//
// Noise: if a block that was in at most four copies is replaced by a new one, its place gets a hit.
// The place also gets a hit if such a block leaves it without a new one, but another that left it
// after it had come back is remembered, or one that was masked comes back instead. If others with the
// same text stay, the first of them must not have been in more copies either, because it may be the
// one that left. A place with two hits in 16 copies is noisy. Changes in a noisy place are masked,
// unless new blocks and those that come and go are more there than such blocks were at a hit before.
// If more than eight blocks are new in a place, it gets no hit, unless that many are masked there:
// such a change is no clock but a page that was made anew. A second copy makes every place noisy in
// which it has new blocks instead of others, however many.
//
// Kinds: the kind of a block is which tags are between the block before and its end, its column in a
// table, and whether it has a number. So the titles of a list are of one kind, and their counters of
// another. A kind is noisy if at least three of its blocks, in two places or more, and half of all are
// masked or known to come and go. A new block of a noisy kind is masked in any place, if no more
// blocks of this kind come to places that are not noisy than left places without another instead. Of
// those that left, only those count that came after the first copy and never stayed for twelve copies,
// or for 36 if they were masked. If others have their text, too, they count in any case, because nobody
// knows for how long they were there. JSON has no kinds.
//
// Late changes: a masked block that stays for twelve copies is reported late, unless its copy was
// reported because of other blocks, or its kind is noisy. Its place is then no longer noisy.
type Page struct {
	// Numbers says that the numbers of the page are its content: prices, counters, scores. A block
	// with a number is then never masked: digits alone or with letters on one side, as in 10kg. In
	// JSON these are the times in numbers alone.
	// It is saved with the page.
	Numbers bool

	copies uint8 // up to 255
	plain  bool  // the latest copy was compared byte by byte
	json   bool  // the table is of JSON
	apart  bool  // the latest copy was empty, or plain once, and the table is of the copy before it
	// A second copy is asked for when streak, the number of changes in a row, reaches patience.
	// patience doubles each time, and goes back to its first value after a second copy that
	// differs.
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
	gone  uint8  // copies for which it has been gone
	flags uint8
	kind  kind
}

// passes reports whether the block is known to come and go where its place is noisy.
func (e *entry) passes() bool { return e.flags&noise != 0 || e.flags&(masked|returned) == masked }

// rotates reports whether the block is like an advertisement: it came back, was there for shortRun copies or
// fewer, or in one of two copies fetched within seconds, and has no number.
func (e *entry) rotates() bool {
	return e.flags&(returned|noise|hasNumber) == returned|noise
}

// returns reports whether the block comes back.
func (e *entry) returns() bool { return e.flags&here != 0 && e.run == 0 }

// Flags of an entry in addition to those of a block.
const (
	returned uint8 = 1 << (iota + 2) // it came back before
	masked                           // it came in a noisy place and was not reported
	here                             // it is in the present copy; not saved
	noise                            // it comes and goes where its place is noisy, although not masked
	repeated                         // others with its text are before it
	lasted                           // it stayed for lateAfter copies, or lastsAfter if it was masked, whatever it did since
	allFlags = inBody | hasNumber | returned | masked | noise | repeated | lasted
)

// A place is a place in which blocks were replaced lately.
type place struct {
	hash  uint32
	hits  uint16 // bit k is set if there was a hit k copies ago
	width uint8  // the most blocks that were replaced at once; mostWidth means that many or more
}

// The parameters of the algorithm are those that did best on 53,793 pairs of real copies of 263
// legal and help pages. Most of these pairs differed in their bytes. Exceptions are lateAfter,
// which was 6 there and did not count copies with the same bytes, and the parameters after it.
// Their effect on synthetic noise is measured by go test ./webenv/live/fingerprint -run Noise -v.
const (
	forgetAfter = 16 // copies with other bytes after which an absent block is forgotten
	// forgetRotating is the same for a text that rotates and is one of at least fewNoisy of its kind. With 16, an
	// advertisement of 20 that moves with the items of its page was new again and again. A single text that
	// is there from time to time may be an alert.
	forgetRotating = 32
	goneAfter      = 3 // copies in a row in which a block must have been for its absence to be a change
	// shortRun is the most copies in which a replaced block may have been for a hit. With 5 instead
	// of 4, a price that changes before every twentieth poll is missed in 4.9 % of its changes
	// instead of 2.8 %, and a clock that stands still at half of the polls is reported at 7.8 % of
	// them instead of 8.1 %.
	shortRun  = 4
	noisyHits = 2 // hits in the 16 bits of place.hits
	// lateAfter is how many copies a block must stay for to be content, whatever it was taken for
	// before. A masked block is then reported, and the absence of a block that came back is a
	// change again. In a clock that stands still in half of the copies, one text in 2,000 stays for
	// 12 copies.
	lateAfter = 12
	// lastsAfter is how many copies a masked block of a noisy kind must stay for to be content. Without
	// it, a price that was masked once would be masked for ever. TestSlowCounters measures it.
	lastsAfter = 36
	// mostAlike is the most blocks with the same text that are separate blocks. The blocks after
	// them are only counted.
	mostAlike = 16
	// mostNoise is the most new blocks at once with which a place gets a hit. Noise on real pages
	// was one or two blocks; front pages of newspapers replace dozens.
	mostNoise = 8
	mostWidth = math.MaxUint8
	// maxEntries and maxPlaces bound the memory. The blocks that have been gone longest are
	// forgotten first. A noisy place has a stable block before it, so a copy has about as many
	// places as half of its blocks at most. With 512, of a list of 700 items with a counter each, all
	// polls were false changes.
	maxEntries = 2 * maxBlocks
	maxPlaces  = maxBlocks / 2
	// firstPatience is how many changes in a row are suspicious at first.
	firstPatience = 3
	mostPatience  = 96
)

// A Finding is what a copy of a page shows. It is zero for a copy that does not differ from the one
// before, or that differs only in noise.
type Finding struct {
	First bool // the first copy: there was nothing to compare it with
	Body  bool // the body of the page changed
	Minor bool // menus, headers, footers, forms or the title changed
	// Late says that everything reported had changed in earlier copies and was taken for noise.
	Late bool
	// Again advises to fetch the page once more within seconds and to pass that copy to
	// [Page.Teach]. It is set at the first copy, and when a page has changed at several copies in a
	// row.
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

// has reports whether the finding has a change of the same kind, body or minor, as a block with the
// given flags.
func (f *Finding) has(flags uint8) bool {
	return flags&inBody != 0 && f.Body || flags&inBody == 0 && f.Minor
}

// Observe compares a copy with those before, learns, and reports what changed.
func (p *Page) Observe(c *Copy) Finding {
	sum := p.sum
	f, _ := p.observe(c, false)
	if f.First {
		p.patience = firstPatience
		f.Again = !p.plain
		return f
	}
	// A plain copy has no places that could be learnt, nor have the lasting values of JSON.
	if !f.Body || p.plain || c.json() && p.sum != sum {
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

// Clone returns a copy of the page: what one of them learns does not alter the other.
func (p *Page) Clone() *Page {
	c := *p
	c.entries, c.places = slices.Clone(p.entries), slices.Clone(p.places)
	return &c
}

// Same notes a poll that found the page as it was, such as an answer 304. It counts like a copy
// with the same bytes: the blocks have stayed for one more copy. It reports earlier changes that
// were taken for noise until now.
func (p *Page) Same() (f Finding) {
	p.streak = 0
	if p.copies == 0 || p.apart {
		return f
	}
	p.copies = min(p.copies, 254) + 1
	s := changes{same: true}
	for i := range p.entries {
		e := &p.entries[i]
		if e.run == 0 {
			continue
		}
		e.flags |= here
		if e.passes() {
			s.stayed = append(s.stayed, passer{e.place, e.run})
		}
	}
	s.stayed.sort()
	p.step(&s, false, &f)
	return f
}

// Teach learns from a second copy, fetched within seconds of the latest one observed. Every place
// in which it has new blocks instead of others is noisy at once, and a block that only one of the
// two has is known to come and go. If they do not differ, Teach learns nothing, because most clocks
// do not show seconds. It does nothing before the first copy, or with a copy that cannot be
// compared with the latest, or only byte by byte.
func (p *Page) Teach(c *Copy) {
	c.finish()
	if p.copies == 0 || p.apart || p.plain || c.plain() || c.json() != p.json {
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
	many  []block // blocks after the first mostAlike with the same text
}

// changes are the differences between a copy and the table. fresh and gone are sorted by place.
type changes struct {
	same  bool    // there is no copy, because the page is the same
	fresh []entry // blocks that are not in the table
	gone  []entry // blocks that were in the copy before and are not in this one
	// The blocks that come back, or are known to come and go and were elsewhere; those that are known to come
	// and go and were there in the copy before, too; and those that came back once and are in neither copy, or
	// were masked and come back. All are sorted.
	back, stayed, rotating passers
	kinds
}

// A passer is a block that comes and goes: its place, and for how many copies it was there, if it stayed, or
// gone.
type passer struct {
	place  uint32
	copies uint8
}

// passers are sorted by place and copies.
type passers []passer

func (l passers) sort() {
	slices.SortFunc(l, func(a, b passer) int { return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.copies, b.copies)) })
}

// from returns the index of the first one of a place with at least so many copies.
func (l passers) from(place uint32, copies int) int {
	i, _ := slices.BinarySearchFunc(l, copies, func(v passer, copies int) int {
		return cmp.Or(cmp.Compare(v.place, place), cmp.Compare(int(v.copies), copies))
	})
	return i
}

// at returns those of a place.
func (l passers) at(place uint32) passers { return l[l.from(place, 0):l.from(place, math.MaxUint8+1)] }

// together reports whether more than mostNoise blocks have the place and the copies of one of them: they came
// or left at once. Then they are not noise, but of another page.
func (l passers) together(v passer) bool {
	copies := int(v.copies)
	return copies > 0 && l.from(v.place, copies+1)-l.from(v.place, copies) > mostNoise
}

// noise returns how many blocks of the copy that come and go have a place.
func (s *changes) noise(place uint32) int {
	n := len(s.stayed.at(place))
	back := s.back.at(place)
	for _, v := range back {
		if !back.together(v) {
			n++
		}
	}
	return n
}

var pool = sync.Pool{New: func() any { return new(scratch) }}

// observe compares a copy and learns. If teach is set, every difference is noise. differs reports
// whether blocks differ.
func (p *Page) observe(c *Copy, teach bool) (f Finding, differs bool) {
	sum := c.sum()
	if p.copies > 0 && sum == p.sum && !p.differsIn(c) {
		if !teach {
			f = p.Same()
		}
		return f, false
	}
	f.First = p.copies == 0
	f.Body = p.apart // a caller that keeps copies has kept that one
	if (c.json() || p.json) && !teach {
		f.Body = f.Body || !f.First && sum != p.sum
	}
	if !c.json() || !teach { // else the change of a value that cannot be noise is found by the next copy
		p.sum = sum
	}
	plain, empty := c.plain(), c.size == 0
	if plain && !p.plain && !f.First && (empty || !p.apart) {
		f.Body, p.apart = true, true // what was learnt is kept
		return f, false
	}
	p.apart = empty
	p.copies = min(p.copies, 254) + 1
	if plain || p.plain {
		f.Body = !f.First
		p.plain = plain
		p.entries, p.places, p.copies, p.json = nil, nil, 1, false
		if plain {
			return f, false
		}
	}
	p.json = c.json()
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

// differsIn reports whether a copy in JSON has other values that may change by themselves than the one
// before.
func (p *Page) differsIn(c *Copy) bool {
	if !c.json() || len(p.entries) == 0 {
		return false
	}
	s := pool.Get().(*scratch)
	defer pool.Put(s)
	p.find(c.text.blocks, s)
	differs := p.differs(&s.changes)
	for i := range p.entries {
		p.entries[i].flags &^= here
	}
	return differs
}

// step judges a copy, and learns.
func (p *Page) step(s *changes, teach bool, f *Finding) {
	for i := range p.places {
		p.places[i].hits <<= 1
	}
	if !teach {
		p.findKinds(s)
		p.judge(s, f)
	}
	p.learn(s, teach)
	p.keep(s, teach)
}

// entry returns the index of a block in the table.
func (p *Page) entry(hash uint32) (int, bool) {
	return slices.BinarySearchFunc(p.entries, hash, func(e entry, h uint32) int { return cmp.Compare(e.hash, h) })
}

// alike counts the blocks of a copy by their text. It is a hash table with open addressing that has
// room for twice as many blocks as a copy may have.
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

// slot returns the slot that a text has or would get.
func (a *alike) slot(hash uint32) uint32 {
	i := hash % uint32(len(a.hash))
	for a.hash[i] != hash && a.hash[i] != 0 {
		i = (i + 1) % uint32(len(a.hash))
	}
	return i
}

// nth returns the hash of a block after n blocks with the same text.
func nth(hash uint32, n int) uint32 {
	if n == 0 {
		return hash
	}
	return mix(uint64(hash)*fnvPrime + uint64(n))
}

// theirNumber is the n of nth for the place of the block that counts a text. It is no number of a
// block, so no other block has that place.
const theirNumber = -1

// find marks the blocks of the copy that are in the table, collects the others, and gives all of
// them their places.
func (p *Page) find(blocks []block, s *scratch) {
	s.fresh, s.gone, s.many = s.fresh[:0], s.gone[:0], s.many[:0]
	s.back, s.stayed, s.rotating = s.back[:0], s.stayed[:0], s.rotating[:0]
	s.alike = alike{}
	before := uint32(0) // the nearest stable block
	for _, b := range blocks {
		n := s.alike.count(b.hash)
		var stable bool
		if n < mostAlike {
			e := entry{hash: nth(b.hash, n), place: before, flags: b.flags, kind: b.kind}
			if n > 0 {
				e.flags |= repeated
			}
			stable = p.mark(e, s)
		} else {
			stable = p.manyBefore(b.hash)
			s.many = append(s.many, b)
		}
		if stable {
			before = nth(b.hash, n)
		}
	}
	for _, b := range s.many { // they are one block, which changes when their number changes
		e := entry{hash: nth(b.hash, s.alike.total(b.hash)-1), place: nth(b.hash, theirNumber), flags: b.flags}
		if !p.manyBefore(b.hash) {
			e.flags |= returned // not a change: the last separate block with the text is new and is one already
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
		switch {
		case e.flags&here != 0:
		case e.run > 0:
			s.gone = append(s.gone, e)
		case e.flags&returned != 0:
			s.rotating = append(s.rotating, passer{e.place, e.gone})
		}
	}
	if len(s.gone) > 0 {
		p.others(blocks, s)
	}
	s.back.sort()
	s.stayed.sort()
	s.rotating.sort()
	byPlace := func(a, b entry) int { return cmp.Compare(a.place, b.place) }
	slices.SortStableFunc(s.fresh, byPlace)
	slices.SortStableFunc(s.gone, byPlace)
}

// others marks the blocks that are gone while others with their text are here, the first of them for
// more copies than shortRun: it may be the one that left. s.gone is sorted by hash.
func (p *Page) others(blocks []block, s *scratch) {
	for _, b := range blocks {
		for n := s.alike.total(b.hash); n < mostAlike; n++ {
			i, left := slices.BinarySearchFunc(s.gone, nth(b.hash, n), func(e entry, h uint32) int { return cmp.Compare(e.hash, h) })
			if !left {
				break
			}
			if k, known := p.entry(b.hash); known && p.entries[k].run > shortRun {
				s.gone[i].flags |= here
			}
		}
	}
}

// mark marks a block of the copy in the table, or collects it. It reports whether the block is
// stable: whether it was in the copy before, and is not known to come and go. In the first copy all
// blocks are stable. Texts that have been in a noisy place for few copies are not: what changes after a clock that
// stands still for two copies would have another place each time.
func (p *Page) mark(b entry, s *scratch) (stable bool) {
	i, known := p.entry(b.hash)
	if !known {
		s.fresh = append(s.fresh, b)
		return len(p.entries) == 0
	}
	e := &p.entries[i]
	moved := e.place != b.place
	if e.flags&here == 0 {
		e.place, e.kind = b.place, b.kind
		e.flags = e.flags&^(inBody|hasNumber) | b.flags | here
	} else {
		e.flags |= b.flags
	}
	switch {
	case e.run == 0:
		s.back = append(s.back, passer{e.place, e.gone})
		if e.flags&masked != 0 {
			s.rotating = append(s.rotating, passer{e.place, e.gone})
		}
		return false
	case p.json: // the place is the path
	case e.passes() && p.noisy(e.place, 1):
		if moved {
			s.back = append(s.back, passer{e.place, e.gone})
		} else {
			s.stayed = append(s.stayed, passer{e.place, e.run})
		}
		return false
	}
	return p.json || e.run > shortRun || e.run >= p.copies-1 || e.flags&(returned|lasted) != 0 || !p.noisy(e.place, 1)
}

// manyBefore reports whether the copy before had at least mostAlike blocks with a text.
func (p *Page) manyBefore(hash uint32) bool {
	i, known := p.entry(nth(hash, mostAlike-1))
	return known && p.entries[i].run > 0 || len(p.entries) == 0
}

// differs reports whether the copy has other blocks than the one before.
func (p *Page) differs(s *changes) bool {
	return len(s.fresh) > 0 || len(s.gone) > 0 || slices.ContainsFunc(p.entries, func(e entry) bool { return e.returns() })
}

// place returns the index of a place.
func (p *Page) place(hash uint32) (int, bool) {
	return slices.BinarySearchFunc(p.places, hash, func(v place, h uint32) int { return cmp.Compare(v.hash, h) })
}
