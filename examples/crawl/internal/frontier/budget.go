package frontier

import (
	"math"
	"sync"
	"time"
)

// A budget says how many URLs may be given, at a rate.
type budget struct {
	mu    sync.Mutex
	rate  float64 // per second; 0 for any
	left  float64
	since time.Time
}

// hoard is the time for which a budget is kept that was not asked for.
const hoard = time.Minute

func newBudget(rate float64, now time.Time) *budget {
	return &budget{rate: rate, since: now}
}

// take takes what there is, for a call that may give it back; negative is any number.
func (b *budget) take(now time.Time) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rate <= 0 {
		return -1
	}
	b.left = min(b.left+b.rate*now.Sub(b.since).Seconds(), max(1, b.rate*hoard.Seconds()))
	b.since = now
	n := math.Floor(b.left)
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
