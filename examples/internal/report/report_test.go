package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSample(t *testing.T) {
	r := Row{Source: "s", Published: 3.0}.Sample([]float64{1, 2, 3, 4})
	require.Equal(t, 2.5, r.Measured)
	require.InDelta(t, math.Sqrt(5.0/3), *r.SD, 1e-12)
	require.Equal(t, 4, r.Runs)
	require.Nil(t, Row{}.Sample([]float64{7}).SD)
}

func TestJSONHasNullForUnpublished(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteJSON(&b, []Row{{Source: "recrawl", Measured: []float64{1, 2}, Runs: 1}}))
	var back []map[string]any
	require.NoError(t, json.Unmarshal(b.Bytes(), &back))
	require.Contains(t, back[0], "published")
	require.Nil(t, back[0]["published"])
	require.Equal(t, []any{1.0, 2.0}, back[0]["measured"])
}

func TestTableAligns(t *testing.T) {
	var b bytes.Buffer
	require.NoError(t, WriteTable(&b, []string{"name", "n"}, [][]string{{"a", "1"}, {"long", "100"}}))
	require.Equal(t, "name    n\n----  ---\na       1\nlong  100\n", b.String())
}

func TestChartAndPage(t *testing.T) {
	svg, err := Chart{Title: "t", Series: []Series{{Name: "one", X: []float64{1, 2, 3}, Y: []float64{1, math.NaN(), 2}}}}.SVG()
	require.NoError(t, err)
	require.Contains(t, string(svg), "<svg")
	html, err := Page{Title: "a < b", Sections: []Section{{SVG: svg, Header: []string{"h"}, Rows: [][]string{{"<x>"}}}}}.HTML()
	require.NoError(t, err)
	s := string(html)
	require.Contains(t, s, "a &lt; b")
	require.Contains(t, s, "&lt;x&gt;")
	require.NotContains(t, s, "<?xml")
	require.NotContains(t, strings.ReplaceAll(s, "http://www.w3.org/", ""), "http://")

	_, err = Chart{Series: []Series{{X: []float64{1}}}}.SVG()
	require.Error(t, err)
}

func TestChartOfManyCurves(t *testing.T) {
	var c Chart
	for i := range 2 * len(colours) {
		c.Series = append(c.Series, Series{Name: fmt.Sprintf("curve %c", 'A'+i), X: []float64{0, 1}, Y: []float64{0, float64(i)}})
		for j := range i {
			require.NotEqual(t, c.Series[i].style(i), c.Series[j].style(j))
		}
	}
	svg, err := c.SVG()
	require.NoError(t, err)
	// The legend begins with the curve that ends highest.
	require.Less(t, strings.Index(string(svg), "curve T"), strings.Index(string(svg), "curve S"))
	require.Contains(t, string(svg), "curve A")
}

func TestTicks(t *testing.T) {
	for _, c := range []struct{ low, high float64 }{{0, 822}, {0, 8964}, {0.67, 0.97}, {-1, 1}, {4.1, 4.2}, {0, 39}, {0, 41}} {
		marks := ticks{}.Ticks(c.low, c.high)
		require.GreaterOrEqual(t, len(marks), 3, c)
		require.LessOrEqual(t, len(marks), 11, c)
		for _, m := range marks {
			require.True(t, m.Value >= c.low && m.Value <= c.high)
			require.NotEqual(t, "-0", m.Label)
		}
	}
}
