package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/webenv"
)

// The textual readings of the rule, and none of them gives the published crawls: the expected
// numbers are known (partition.TWOMAConfig.ExpectedCrawls), and the means of ten runs are near
// them.
func TestReadingsOfTWOMA(t *testing.T) {
	t.Parallel()
	for k, want := range [][]float64{{11.6, 13.3, 28.2, 32.3, 59.6, 64.1}, {43.2, 50.2, 109.6, 126.3, 235.5, 253.5}, {53.8, 62.5, 136.8, 157.7, 294.2, 316.6}} {
		for i, set := range settings {
			v, err := readingsOfText[k].cfg.ExpectedCrawls(set.arms, set.sites)
			require.NoError(t, err)
			require.InDelta(t, want[i], v, 1, "%s, %s", readingsOfText[k].name, set.place)
		}
	}
	l := &lab{Program: newProgram(t)}
	all, err := l.crawlAll(atBoundary, webenv.DurationsConfig{Arms: 3, Sites: 300}, 4, allPlaced)
	require.NoError(t, err)
	for _, c := range all {
		require.Equal(t, 300, c[len(c)-1].Placed)
		require.Less(t, number(c), 30.)
		require.LessOrEqual(t, near(c), number(c))
	}
	fitted := 0
	_, means, err := l.static("figure 5.3-1", 2)
	require.NoError(t, err)
	require.Len(t, means, len(textual)+1)
	f, _, err := l.static("figure 5.3-1", 2)
	require.NoError(t, err)
	for _, r := range f.rows {
		if r.Verdict == Fitted || r.Verdict == FittedDiffers {
			fitted++
		}
		// A figure that was fitted to is never called reproduced.
		if r.Item == "TWOMA ("+fittedScheme.name+")" || r.Unit == "time units" {
			require.Contains(t, []Verdict{Fitted, FittedDiffers}, r.Verdict, r.Item)
		}
		// Nor one fitted that does not agree: these do not depend on chance, and are 22,230 for 22,000.
		if strings.HasPrefix(r.Item, "any scheme") {
			require.Equal(t, FittedDiffers, r.Verdict)
			require.Contains(t, r.Why, "24.4 a site for 900 sites and 25.0 for 3000")
		}
	}
	require.Equal(t, 4, fitted)
}
