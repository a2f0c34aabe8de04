package worktest

import (
	"context"
	"runtime"
	"testing"
	"time"
)

// moments is the number of ends that Lateness tries, one of them before the call.
const moments = 25

// Lateness calls run with contexts that end when the process has used so much processor time, user and
// system, at moments from 0 to most that lie the closer together the earlier they are. It reports the
// most processor time from the end of a context to the return of run, garbage collections included,
// and how many of the calls returned after it.
func Lateness(b *testing.B, most time.Duration, run func(context.Context)) {
	b.Helper()
	for b.Loop() {
		worst, at, calls := time.Duration(0), time.Duration(0), 0
		for k := range moments {
			share := float64(k) / (moments - 1)
			ctx := &deadline{Context: context.Background(), length: time.Duration(share * share * float64(most))}
			runtime.GC()
			ctx.start = processorTime()
			run(ctx)
			late := processorTime() - ctx.start - ctx.length
			if late > 0 {
				calls++
			}
			if late > worst {
				worst, at = late, ctx.length
			}
		}
		b.ReportMetric(worst.Seconds()*1e3, "late-ms")
		b.ReportMetric(at.Seconds()*1e3, "at-ms")
		b.ReportMetric(float64(calls), "late-calls")
	}
}

// A deadline is a context that ends when the process has used so much processor time.
type deadline struct {
	context.Context
	start, length time.Duration
}

func (d *deadline) Err() error {
	if processorTime()-d.start >= d.length {
		return context.Canceled
	}
	return nil
}
