package game

import "github.com/recrawl/recrawl/knapsack/internal/pick"

// lookFrom is the number of slots from which a poll looks ahead. With 10⁴ pages, which are in a cache
// anyway, a look takes as long as it saves; with 10⁵ it saves 6 to 28 % of a poll.
const lookFrom = 1 << 15

// An ahead looks at what the next polls will most likely take out, so that memory is read for all
// of them at once: one after the other, each read would wait for the one that names its place. What
// they take out does not depend on it.
type ahead struct {
	from  int                // slots from which it looks; tests have others
	state [pick.Ahead]uint32 // of each of the next polls: the guess of its state, minus 1
	polls int                // that are left of these
	moved bool               // idle totals have changed since the guesses
	sum   uint32             // so that reading is for something
}

// draw chooses one of the pages that are in, of which there are some.
func (l *Amounts) draw() (slot int) {
	if l.draws.Left() == 0 && l.buckets.Slots() >= l.ahead.from {
		l.look()
	}
	u, k := l.draws.Uint64(), 0
	if a := &l.ahead; a.polls > 0 {
		k = l.idle.Near(u, int(a.state[pick.Ahead-a.polls]), !a.moved)
		a.polls--
	} else {
		k = l.idle.At(u)
	}
	return l.buckets.At(k, l.buckets.Draw(k, l.draws.Uint64()))
}

// look draws the random numbers of the next polls, and touches what these will need.
func (l *Amounts) look() {
	var state, slot [pick.Ahead]uint64
	drawn := l.draws.Draw(2 * pick.Ahead)
	for j := range state {
		state[j], slot[j] = drawn[2*j], drawn[2*j+1]
	}
	a := &l.ahead
	l.idle.Guess(&state, &a.state)
	a.sum += l.buckets.Touch(&a.state, &slot)
	a.polls, a.moved = pick.Ahead, false
}
