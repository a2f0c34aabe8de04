package shard

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/clock"
	"github.com/recrawl/recrawl/examples/crawl/internal/engine"
	"github.com/recrawl/recrawl/knapsack"
)

// A slowLog writes its first record when it is let, and keeps the sizes of all.
type slowLog struct {
	begun, let chan struct{}
	sizes      []int
}

func (s *slowLog) Append(_ context.Context, record []byte) error {
	if len(s.sizes) == 0 {
		close(s.begun)
		<-s.let
	}
	s.sizes = append(s.sizes, len(record))
	return nil
}

func (*slowLog) Mark() engine.Mark                                   { return 0 }
func (*slowLog) Snapshot(context.Context, engine.Mark, []byte) error { return nil }
func (*slowLog) Lost() <-chan struct{}                               { return nil }
func (*slowLog) Sure() bool                                          { return true }
func (*slowLog) Held() context.Context                               { return context.Background() }

// What comes while a record is written, as the pages of a long sitemap, goes into as many records as it takes.
func TestManyEventsAtOnce(t *testing.T) {
	t.Parallel()
	filter, err := knapsack.NewRateFilter(0, knapsack.RateFilterConfig{})
	require.NoError(t, err)
	state, log, stop := NewState(filter), &slowLog{begun: make(chan struct{}), let: make(chan struct{})}, make(chan struct{})
	l := NewLoop(Config{State: state, Log: log, Clock: clock.NewReal(), Stop: stop, Submit: func(Job) {}})
	ended := make(chan error, 1)
	go func() { ended <- l.Run(t.Context()) }()
	const pages = 20_000
	for i := range pages {
		l.Tell(t.Context(), Event{Kind: Add, URL: fmt.Sprintf("http://a.test/%s/%d", strings.Repeat("x", 100), i), At: time.Now()})
		if i == 0 {
			<-log.begun
		}
	}
	close(log.let)
	close(stop)
	require.NoError(t, <-ended)
	require.Equal(t, pages, state.Len())
	for _, size := range log.sizes {
		require.LessOrEqual(t, size, engine.MaxRecord)
	}
}
