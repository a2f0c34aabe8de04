package main

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/webenv"
)

// A hearer notes what it is told.
type hearer struct {
	webenv.Scheduler
	told     [][]float64
	signals  []int
	observed int
}

func (h *hearer) RecordChanges(_ int, from, _ float64, times []float64) error {
	if math.IsInf(from, -1) {
		h.told = append(h.told, times)
	}
	return nil
}

func (h *hearer) Signal(page, _ int, _ float64) error {
	h.signals = append(h.signals, page)
	return nil
}

func (h *hearer) Observe(int, float64, bool) error {
	h.observed++
	return nil
}

// A policy is told all changes since its last poll of the page, or the pages of the group that changed
// within an hour of them and that were not polled since; and never both.
func TestInformed(t *testing.T) {
	t.Parallel()
	history := &webenv.History{
		Names: []string{"a/1", "a/2", "a/3", "b/1"},
		Times: [][]float64{{5 * hour, 9 * hour, 30 * hour}, {9.5 * hour}, {9.5 * hour, 12 * hour}, {9 * hour}},
	}
	w, err := replayed(history, "")
	require.NoError(t, err)
	w.start = 4 * hour
	j := job{names: history.Names, groups: "folder"}
	polls := func(s scenario) *hearer {
		h := &hearer{}
		policy := s.inform(h, w, j)
		require.NoError(t, policy.Observe(2, 10*hour, true)) // knows its change, and page 1 has changed, too
		require.NoError(t, policy.Observe(0, 10*hour, true)) // page 2 was polled since
		require.NoError(t, policy.Observe(1, 13*hour, true))
		require.NoError(t, policy.Observe(0, 14*hour, false))
		require.NoError(t, policy.Observe(0, 31*hour, true))
		require.Equal(t, 5, h.observed)
		return h
	}
	times := polls(scenario{times: true})
	require.Equal(t, [][]float64{{9.5 * hour}, {5 * hour, 9 * hour}, {9.5 * hour}, {30 * hour}}, times.told)
	require.Empty(t, times.signals)
	mates := polls(scenario{mates: true})
	require.Equal(t, []int{0, 1, 1}, mates.signals)
	require.Empty(t, mates.told)

	for _, s := range scenarios[:5] {
		h := polls(s)
		require.Empty(t, h.told)
		require.Empty(t, h.signals)
	}
}
