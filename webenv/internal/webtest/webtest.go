// Package webtest is what the tests of webenv's packages share: a clock, histories, and a way
// to send requests straight to a handler.
package webtest

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/webenv"
)

// Year2001 is an epoch in the past, so that dates are not those of the wall clock.
var Year2001 = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC)

// DateOf returns a time in seconds since Year2001 as HTTP writes it.
func DateOf(t float64) string {
	return webenv.Calendar{Epoch: Year2001}.Date(t).Format(http.TimeFormat)
}

// Clock is a time of an environment that a test sets. It is safe for concurrent use.
type Clock struct {
	mu  sync.Mutex
	now float64
}

// Now returns the time.
func (c *Clock) Now() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Set sets the time.
func (c *Clock) Set(now float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

// InProcess sends requests straight to a handler.
type InProcess struct{ Handler http.Handler }

// RoundTrip implements [http.RoundTripper].
func (h InProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	h.Handler.ServeHTTP(w, r)
	resp := w.Result()
	resp.Request = r
	return resp, nil
}

// Fetch gets a URL and reads it to the end.
func Fetch(t require.TestingT, client *http.Client, url string) {
	resp, err := client.Get(url)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
}

// Name returns a name that has to be escaped.
func Name(page int) string { return fmt.Sprintf("page %d/é&?", page) }

// Replay returns an environment whose pages change at the given times.
func Replay(t require.TestingT, times ...[]float64) *webenv.Replay {
	h := &webenv.History{Times: times}
	for i := range times {
		h.Names = append(h.Names, Name(i))
	}
	env, err := webenv.NewReplay(h, 0)
	require.NoError(t, err)
	return env
}

// Changes draws changes of a page at quarters of a second up to 15, so that several often fall
// into one second.
var Changes = rapid.Custom(func(t *rapid.T) []float64 {
	quarters := rapid.SliceOfNDistinct(rapid.IntRange(1, 60), 0, 20, rapid.ID[int]).Draw(t, "quarters")
	slices.Sort(quarters)
	times := make([]float64, len(quarters))
	for i, q := range quarters {
		times[i] = float64(q) / 4
	}
	return times
})
