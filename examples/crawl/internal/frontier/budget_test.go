package frontier

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A stepClock tells one time after the other.
type stepClock struct {
	times []time.Duration // since 1970
	asked func()
}

func (c *stepClock) Now() time.Time {
	c.asked()
	t := time.Unix(0, 0).Add(c.times[0])
	c.times = c.times[1:]
	return t
}

func (c *stepClock) Sleep(context.Context, time.Duration) {}
func (c *stepClock) Real(d time.Duration) time.Duration   { return d }

// A time before the one of the last call gives nothing. It must not give a negative number, which
// is any number of URLs, and the time until then does not count twice.
func TestBudgetOfEarlierTime(t *testing.T) {
	t.Parallel()
	c := &stepClock{asked: func() {}, times: []time.Duration{0, 2 * time.Second, 2*time.Second - 1, time.Second, 2 * time.Second, 3 * time.Second}}
	b := newBudget(1, c)
	for _, want := range []int{2, 0, 0, 0, 1} {
		require.Equal(t, want, b.take())
	}
}

// The clock is read under the lock, so that no call comes with a time before that of another.
func TestBudgetReadsClockLocked(t *testing.T) {
	t.Parallel()
	c := &stepClock{asked: func() {}, times: []time.Duration{0, time.Second}}
	b := newBudget(1, c)
	c.asked = func() { require.False(t, b.mu.TryLock()) }
	require.Equal(t, 1, b.take())
}

// A rate without bounds does not come out as a negative number.
func TestBudgetOfGreatRate(t *testing.T) {
	t.Parallel()
	b := newBudget(1e30, &stepClock{asked: func() {}, times: []time.Duration{0, time.Second}})
	require.Positive(t, b.take())
}
