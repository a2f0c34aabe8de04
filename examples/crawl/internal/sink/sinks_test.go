package sink

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
)

// A sink that fails is tried again for a minute, and others are not handed a version twice for that.
// The log tells of it once in a minute, and when it is over.
func TestSinksTryAgain(t *testing.T) {
	t.Parallel()
	var lines, log bytes.Buffer
	now := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	full := errors.New("disk full")
	for _, c := range []struct {
		failures int
		kept     bool
		waited   time.Duration
		warnings int
	}{{0, true, 0, 0}, {1, true, time.Second, 1}, {6, true, 63 * time.Second, 1}, {100, false, 63 * time.Second, 2}} {
		lines.Reset()
		log.Reset()
		left, begin := c.failures, now
		s := New(Lines(&lines), func(context.Context, fetch.Version) error {
			if left > 0 {
				left--
				return full
			}
			return nil
		})
		s.now = func() time.Time { return now }
		s.after = func(d time.Duration) <-chan time.Time {
			now = now.Add(d)
			over := make(chan time.Time, 1)
			over <- now
			return over
		}
		s.log = func() *slog.Logger { return slog.New(slog.NewTextHandler(&log, nil)) }
		err := s.Sink()(t.Context(), version("one"))
		if c.kept {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, full)
		}
		require.Equal(t, 1, strings.Count(lines.String(), "\n"))
		require.Equal(t, c.waited, now.Sub(begin))
		require.EqualValues(t, min(c.failures, 7), s.Failures())
		require.Equal(t, c.warnings, strings.Count(log.String(), "WARN"), log.String())
		require.Equal(t, c.warnings > 0 && c.kept, strings.Contains(log.String(), "kept again"))
	}
	require.Nil(t, New().Sink())
}

// While one sink fails, the log does not say that versions are kept again because another one took them.
func TestOneOfTheSinksFails(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var lines, log bytes.Buffer
		fails := true
		s := New(Lines(&lines), func(context.Context, fetch.Version) error {
			if fails {
				return errors.New("disk full")
			}
			return nil
		})
		s.log = func() *slog.Logger { return slog.New(slog.NewTextHandler(&log, nil)) }
		require.Error(t, s.Sink()(t.Context(), version("one")))
		require.Error(t, s.Sink()(t.Context(), version("two")))
		require.Equal(t, 2, strings.Count(lines.String(), "\n"))
		require.NotContains(t, log.String(), "kept again")
		fails = false
		require.NoError(t, s.Sink()(t.Context(), version("three")))
		require.Equal(t, 1, strings.Count(log.String(), "kept again"))
	})
}

// While one sink fails, as a webhook that is down for hours, the others are not handed a version again each time that
// its page is fetched.
func TestSinksKeepOnce(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	var kept []string
	var failure error
	s := New(func(_ context.Context, v fetch.Version) error {
		kept = append(kept, string(v.Body))
		return nil
	}, func(context.Context, fetch.Version) error { return failure })
	s.after = func(time.Duration) <-chan time.Time {
		over := make(chan time.Time, 1)
		over <- time.Time{}
		return over
	}
	s.log = func() *slog.Logger { return slog.New(slog.DiscardHandler) }
	for _, step := range []struct {
		body    string
		failure error
		kept    int
	}{{"one", full, 1}, {"one", full, 1}, {"two", full, 2}, {"two", nil, 2}, {"two", nil, 3}} { // the last is a page that changed to and fro
		failure = step.failure
		require.ErrorIs(t, s.Sink()(t.Context(), version(step.body)), step.failure)
		require.Len(t, kept, step.kept)
	}
}

// Nobody waits for a sink when the crawl is to end, or when its poll does.
func TestSinksStop(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	ctx, cancel := context.WithCancel(t.Context())
	for _, stop := range []func(*Sinks){(*Sinks).Stop, func(*Sinks) { cancel() }} {
		var s *Sinks
		s = New(func(context.Context, fetch.Version) error {
			stop(s)
			return full
		})
		s.after = func(time.Duration) <-chan time.Time { return nil }
		s.log = func() *slog.Logger { return slog.New(slog.DiscardHandler) }
		require.ErrorIs(t, s.Sink()(ctx, version("one")), full)
		s.Stop()
	}
}

// A sink that hangs, as a pipe that nobody reads, is told of and waited for, but not when the crawl is to end.
func TestSinkHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		reader, writer := io.Pipe()
		var log bytes.Buffer
		s := New(Lines(writer))
		s.log = func() *slog.Logger { return slog.New(slog.NewTextHandler(&log, nil)) }
		kept := make(chan error)
		keep := func() { kept <- s.Sink()(t.Context(), version("one")) }
		go keep()
		time.Sleep(5*longestKeep + time.Second)
		synctest.Wait()
		require.EqualValues(t, 5, s.Failures())
		require.Contains(t, log.String(), "does nobody read?")
		_, err := reader.Read(make([]byte, 1<<10))
		require.NoError(t, err)
		require.NoError(t, <-kept)
		require.Contains(t, log.String(), "kept again")

		go keep()
		synctest.Wait()
		s.Stop()
		begin := time.Now()
		require.ErrorIs(t, <-kept, errHangs)
		require.Equal(t, lastKeep, time.Since(begin))
		require.NoError(t, reader.Close())
	})
}
