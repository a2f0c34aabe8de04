package live

import "weak"

// A lesson is what a fetch has taught about a page. It can be taken back. Fetches of one page may
// overlap, and be taken back in any order.
//
// A copy that is remembered has an owner: the lesson that found this version. A lesson that finds no
// other version leaves the owner as it is. So when the owner is taken back, a version that another
// fetch has found since stays. One that another fetch has only confirmed does not stay, because its
// caller took it for the version that it had.
type lesson struct {
	of     *copies
	key    key
	before validators // what was remembered before the lesson
	known  bool       // something was
	left   owner      // of the copy that the lesson left
	taken  bool       // it is taken back
	ended  bool       // its fetch has ended without an error
	prev   *lesson    // owner of before, if it can still be taken back
	depth  int        // how many lessons prev leads to
}

// An owner is a weak pointer, because a lesson whose fetch is gone need not be kept: it cannot be
// taken back any more.
type owner = weak.Pointer[lesson]

// mostDepth bounds the memory that a chain of lessons holds. It is the most fetches of one page that
// may overlap and be taken back, all of them, without losing a version.
const mostDepth = 8

// begin notes what is remembered before the lesson, unless the lesson has begun, and returns the lesson. It begins
// anew if the page was forgotten, or the Transport restored, since. If another fetch has found a version since, as
// between a redirect and the body at its end, another lesson begins: it comes after that of the other fetch, which may
// come after this one.
func (l *lesson) begin(of *copies, k key, before validators, known bool) *lesson {
	anew := before.owner == owner{} || before.owner == of.restored
	switch {
	case l.of != nil && before.owner == l.left:
		return l
	case l.of != nil && !anew:
		l = new(lesson)
	}
	*l = lesson{of: of, key: k, before: before, known: known, left: before.owner}
	if before.page != nil {
		l.before.page = before.page.Clone() // because the lesson alters the page
	}
	if prev := before.owner.Value(); prev != nil && prev.depth < mostDepth {
		l.prev, l.depth = prev, prev.depth+1
	}
	return l
}

// earlier returns what was remembered before the lesson, and before those that have been taken back.
func (l *lesson) earlier() (v validators, known bool) {
	for l.prev != nil && l.prev.taken {
		l = l.prev
	}
	if v = l.before; v.page != nil {
		v.page = v.page.Clone() // because l.before may be needed again
	}
	return v, l.known
}

// end notes that the fetch has ended without an error.
func (l *lesson) end() {
	l.of.mu.Lock()
	defer l.of.mu.Unlock()
	l.ended = true
}

// takeBack takes the lesson back.
func (l *lesson) takeBack() {
	c := l.of
	c.mu.Lock()
	defer c.mu.Unlock()
	l.taken = true
	now, known := c.seen[l.key]
	if !known || now.owner != l.left { // forgotten, or another version has been found since
		return
	}
	before, known := l.earlier()
	if !known {
		delete(c.seen, l.key)
		return
	}
	if now.refused != 0 { // so that a page that is always closed there is compared some day
		before.refused = now.refused
	}
	c.seen[l.key] = before
}
