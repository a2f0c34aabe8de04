// Package work does long work under the watch of a context.
package work

import "context"

// Interval is the work between two looks at a context, in steps of some nanoseconds: a millisecond
// or so, against which a look costs little.
const Interval = 1 << 18

// A Watch notices in the middle of long work that a context has ended. It looks after a fixed
// amount of work, so that what takes less is done in full even if the context is over before. A nil
// Watch never ends.
type Watch struct {
	// Spent is the work in all, Late what of it came after the end. Only tests read them.
	Spent, Late int

	ctx   context.Context
	left  int // work until the next look
	ended bool
}

// NewWatch returns a watch of a context.
func NewWatch(ctx context.Context) *Watch { return &Watch{ctx: ctx, left: Interval} }

// Context returns what is watched.
func (w *Watch) Context() context.Context { return w.ctx }

// Spend accounts for work that is done next, and reports whether to leave it.
func (w *Watch) Spend(steps int) (ended bool) {
	if w == nil {
		return false
	}
	w.Spent += steps
	if w.ended {
		w.Late += steps
	}
	if w.left -= steps; w.left <= 0 && !w.ended {
		w.left = Interval
		w.ended = w.ctx.Err() != nil
	}
	return w.ended
}

// Over reports whether the context was seen to have ended.
func (w *Watch) Over() bool { return w != nil && w.ended }

// chunk is how many items a loop without branches takes from one look to the next.
const chunk = 1 << 14

// Chunks calls work with the parts of 0..n−1 one after the other, each item of which takes so many
// steps, until the watch ends. It reports whether it came to n.
func (w *Watch) Chunks(n, steps int, work func(from, to int)) bool {
	for from := 0; from < n; from += chunk {
		to := min(from+chunk, n)
		if w.Spend((to - from) * steps) {
			return false
		}
		work(from, to)
	}
	return true
}
