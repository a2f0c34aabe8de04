package report

import (
	"context"
	"time"
)

var begin = time.Now()

// WithProcessorTime returns a context that ends when the program has used so much more processor
// time. Call its cancel function.
func WithProcessorTime(ctx context.Context, limit time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	end := ProcessorTime() + limit
	go func() {
		const look = 5 * time.Millisecond
		for ctx.Err() == nil {
			if ProcessorTime() >= end {
				cancel()
			}
			time.Sleep(look)
		}
	}()
	return ctx, cancel
}
