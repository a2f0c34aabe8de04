package frontier

import (
	"math"
	"sync"
	"time"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
)

// A budget says how many URLs may be given, at a rate.
type budget struct {
	clock clock.Clock

	mu    sync.Mutex
	rate  float64 // per second; 0 for any
	left  float64
	since time.Time
}

// hoard is the time for which a budget is kept that was not asked for.
const hoard = time.Minute

func newBudget(rate float64, c clock.Clock) *budget {
	return &budget{clock: c, rate: rate, since: c.Now()}
}

// take takes what there is, for a call that may give it back; negative is any number, which only a
// budget without a rate has.
func (b *budget) take() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rate <= 0 {
		return -1
	}
	// The clock is read under the lock: the times of two calls are in the order of the calls.
	if now := b.clock.Now(); now.After(b.since) {
		b.left = min(b.left+b.rate*now.Sub(b.since).Seconds(), max(1, b.rate*hoard.Seconds()))
		b.since = now
	}
	n := min(max(math.Floor(b.left), 0), math.MaxInt32)
	b.left -= n
	return int(n)
}

// giveBack returns what was not given.
func (b *budget) giveBack(n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rate > 0 {
		b.left += float64(n)
	}
}
