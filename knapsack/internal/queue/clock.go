package queue

// A Clock is what the queue asks about the time that has passed for a page. Its index grows with
// the multiplier of its group at its last answer, times the time since then. Multipliers change
// with every answer; all that the queue needs is that they are about the same for pages of one
// group that were last answered within 1/24 cycle, and that it may ask for any of them at any
// time, in O(log n). Which pages of a group are due, and when, follows when they change: at once for a small
// group that got an answer (News), within a part of the time since their own answers for pages of a large one,
// and within some n/96 polls for all.
type Clock interface {
	// Last returns the time of the last answer of a page.
	Last(slot uint32) float64
	// Multiplier returns by how much more than they are used to the pages of a group change of
	// late, from the time of a last answer to the present; 1 if nothing is known. The group is
	// None for pages that are in none.
	Multiplier(group uint32, last float64) float64
	// Touch reads what is known of a page that will be looked at, so that all of it that is not in the
	// cache comes at the same time. The sum has no meaning.
	Touch(slot uint32) (sum float64)
}

// Pages is what Best asks about pages.
type Pages interface {
	Clock
	// Index returns the index of a page at a time.
	Index(slot uint32, now float64) float64
	// Look returns the index of a page, and the time at which that will reach a level, rather a little
	// too early than too late: now for a page that is above.
	Look(slot uint32, now, level float64) (index, due float64)
}
