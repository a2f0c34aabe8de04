package worktest

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/work"
)

// Ended returns a watch that has seen the end of its context.
func Ended() *work.Watch {
	w := work.NewWatch(NewCountdown(0))
	w.Spend(work.Interval)
	return w
}

// Told fails the test unless run tells its watch at least so many steps, and stops soon if that has
// ended.
func Told(t *testing.T, name string, least int, run func(*work.Watch)) {
	t.Helper()
	watch := work.NewWatch(context.Background())
	run(watch)
	require.GreaterOrEqual(t, watch.Spent, least, name)
	watch = Ended()
	run(watch)
	require.LessOrEqual(t, watch.Late, 2*work.Interval, name)
}

// EndsAnywhere calls run with contexts that end after 0, 1, 2, 4 looks and so on, below most, until one
// is not over when run returns. It fails the test if run's watch counts more steps after the end than
// late and two intervals, or if the context is asked more than a hundred times then.
func EndsAnywhere(t *testing.T, most, late int, run func(*Countdown) *work.Watch) {
	t.Helper()
	for k := 0; k < most; k += 1 + k/2 {
		ctx := NewCountdown(k)
		watch := run(ctx)
		require.LessOrEqual(t, watch.Late, late+2*work.Interval, "after %d looks", k)
		require.LessOrEqual(t, ctx.After, 100, "after %d looks", k)
		if ctx.After == 0 {
			return
		}
	}
}
