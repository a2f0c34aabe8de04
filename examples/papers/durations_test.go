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
	for k, want := range [][]float64{{11.6, 13.3, 28.2, 32.3, 59.6, 77.6}, {43.2, 50.2, 109.6, 126.3, 235.5, 307.5}, {53.8, 62.5, 136.8, 157.7, 294.2, 384.1}} {
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
		if strings.Contains(r.Item, "TWOMA ("+fittedScheme.name+")") || r.Unit == "time units" {
			require.Contains(t, []Verdict{Fitted, FittedDiffers}, r.Verdict, r.Item)
		}
		// Nor one fitted that does not agree: these do not depend on chance, and are 22,230 for 22,000.
		if strings.HasPrefix(r.Item, "any scheme") {
			require.Equal(t, FittedDiffers, r.Verdict)
			require.Contains(t, r.Why, "24.4 a site for 900 sites and 25.0 for 3000")
		}
	}
	require.Equal(t, 4, fitted)

	// A number of ten runs must agree more closely than one of a single run: with 8 and 12 the standard
	// deviation is 2.8, and that of the difference of a mean of ten and this mean 2.2.
	for published, want := range map[float64]string{14: "", 15: whyMean, 16: ""} {
		r := asOneRun("", "", published, []float64{8, 12})
		require.Equal(t, want, r.Why)
		require.Equal(t, published < 16, r.Verdict == Reproduced)
	}
}

// What figure 5.3-6 has is 80,000 sites: rows of fewer are fitted.
func TestFewerSitesAreFitted(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("crawls 80,000 sites")
	}
	l := &lab{Program: newProgram(t)}
	f, _, err := l.static("figure 5.3-6", 1)
	require.NoError(t, err)
	rows := map[string]int{}
	for _, r := range f.rows {
		where, _, _ := strings.Cut(r.Item, " sites")
		rows[where]++
		if where != "8 × 10000" {
			require.Contains(t, []Verdict{Fitted, FittedDiffers}, r.Verdict, r.Item)
			require.Contains(t, r.Why, "the report says 80000")
		}
	}
	require.Equal(t, map[string]int{"8 × 10000": 4, "8 × 1250": 4}, rows)
}

// Where all sites change their access point none is placed, and TWOMA with the average of the crawl
// before stays as it is; with that of all crawls it comes back.
func TestAllChange(t *testing.T) {
	t.Parallel()
	l := &lab{Program: newProgram(t)}
	l.Quick, l.brief = true, true
	f := figure{}
	require.NoError(t, l.changing(&f, webenv.DurationsConfig{Arms: 3, Sites: 300}, 50))
	holds := map[string]any{}
	for _, r := range f.rows {
		if r.Published != nil {
			item, _, _ := strings.Cut(r.Item, " reaches")
			holds[item] = r.Measured
		}
	}
	const at = "3 access points, 300 sites, "
	require.Len(t, holds, 2*(len(textual)+1))
	require.Equal(t, 0., holds[at+"all change every 50 crawls: TWOMA ("+atBoundary.name+")"])
	require.Equal(t, 1., holds[at+"drawn anew every 50 crawls: TWOMA ("+atBoundary.name+")"])
	require.Equal(t, 1., holds[at+"all change every 50 crawls: TWOMA ("+ofHistory.name+")"])
}
