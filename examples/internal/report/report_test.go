package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
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
	for _, values := range [][]float64{{1, math.Inf(1)}, {math.NaN(), 1}, {}} {
		r := Row{}.Sample(values)
		require.NoError(t, WriteJSON(io.Discard, r), "a suite of hours is not to end with nothing")
		require.Nil(t, r.Measured)
		require.Equal(t, len(values), r.Runs)
	}
}

func TestMeanCurve(t *testing.T) {
	require.Equal(t, []float64{2, 4, 5}, MeanCurve([][]float64{{1, 3}, {3, 5, 7}}), "a curve that ended keeps its last value")
	require.Empty(t, MeanCurve(nil))
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

// A column is one of numbers if all that is in its cells is.
func TestNumeric(t *testing.T) {
	t.Parallel()
	for _, cell := range []string{"", "–", "0", "-1.5", "−1.5", "+3", ".94", "1e-05", "1.25e+06", "NaN", "+Inf", "12%", "12.5 %", "81 ± 17", "3 of 12", "74 90 116", "5. 5"} {
		require.True(t, numeric(cell), cell)
	}
	for _, cell := range []string{"3 nodes fail", "99 sites", "20 values", "2×3", "8x", "1.2.3", "± 3", "5 ±", "12 ± – of", "- 1", "–1", "e5", "%", "4 of", "1  2", "2006-01-02"} {
		require.False(t, numeric(cell), cell)
	}
	var b bytes.Buffer
	require.NoError(t, WriteTable(&b, []string{"world", "n"}, [][]string{{"3 nodes fail", "1"}, {"9 slow", "100"}}))
	require.Equal(t, "world           n\n------------  ---\n3 nodes fail    1\n9 slow        100\n", b.String())
}

// A word that is longer than a line is broken, behind a comma if there is one.
func TestWrapped(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"a bc", "def"}, wrapped("a bc def", 4))
	require.Equal(t, []string{"a", "bcdef", "gh i"}, wrapped("a bcdefgh i", 5))
	require.Equal(t, []string{"go", "abc,d,", "efg,h"}, wrapped("go abc,d,efg,h", 6))
	require.Equal(t, []string{"αβγ", "δ"}, wrapped("αβγδ", 3))
	require.Empty(t, wrapped(" ", 3))

	long := "go run ./examples/recrawl -policies " + strings.Repeat("uniform,nutch,", 20) + "rate-filter" + strings.Repeat("x", 100)
	svg, err := Chart{Title: "t", Made: long, Series: []Series{{Name: "one", X: []float64{1, 2}, Y: []float64{1, 2}}}}.SVG()
	require.NoError(t, err)
	var text strings.Builder
	for _, line := range regexp.MustCompile(`>([^<>]*)</text>`).FindAllStringSubmatch(string(svg), -1) {
		require.LessOrEqual(t, len([]rune(line[1])), 54, line[1])
		text.WriteString(line[1])
	}
	require.Contains(t, text.String(), strings.ReplaceAll(strings.TrimPrefix(long, "go run ./examples/recrawl -policies "), " ", ""))
}

// A text has paragraphs between its blank lines, and what is indented is a list of names and what
// they mean.
func TestPageText(t *testing.T) {
	t.Parallel()
	html, err := Page{Sections: []Section{{Text: "One\ntwo:\n\n  name   what <it>\n         means\n  other  thing\n\nThree."}, {Text: "Four."}}}.HTML()
	require.NoError(t, err)
	require.Contains(t, string(html), "<p>One\ntwo:</p><dl><dt>name</dt><dd>what &lt;it&gt; means</dd><dt>other</dt><dd>thing</dd></dl><p>Three.</p>")
	require.Contains(t, string(html), "<p>Four.</p>")
}

func TestChartAndPage(t *testing.T) {
	t.Parallel()
	svg, err := Chart{Title: "t", Made: "go run <it>", Series: []Series{{Name: "one", X: []float64{1, 2, 3}, Y: []float64{1, math.NaN(), 2}}}}.SVG()
	require.NoError(t, err)
	require.NoError(t, xml.Unmarshal(svg, new(struct{})), "well-formed")
	require.Contains(t, string(svg), `role="img" aria-label="t. `)
	require.Contains(t, string(svg), "go run &lt;it&gt;")
	html, err := Page{Title: "a < b", Sections: []Section{{SVG: svg, Header: []string{"h"}, Rows: [][]string{{"<x>"}}}}}.HTML()
	require.NoError(t, err)
	s := string(html)
	require.Contains(t, s, "a &lt; b")
	require.Contains(t, s, "&lt;x&gt;")
	require.Contains(t, s, `<rect class="bg" width="100%" height="100%"/>`)
	require.NotContains(t, strings.ReplaceAll(s, "http://www.w3.org/", ""), "http://")

	_, err = Chart{Series: []Series{{X: []float64{1}}}}.SVG()
	require.Error(t, err)
	_, err = Chart{}.SVG()
	require.ErrorContains(t, err, "no points")
}

// At most four curves are in colours, with their names at their ends, and these lie apart.
func TestChartOfManyCurves(t *testing.T) {
	t.Parallel()
	var c Chart
	for i := range 10 {
		c.Series = append(c.Series, Series{Name: fmt.Sprintf("curve %c", 'A'+i), X: []float64{0, 1}, Y: []float64{0, float64(i)/100 + 1}, Main: i > 2})
	}
	b, err := c.SVG()
	require.NoError(t, err)
	svg := string(b)
	require.Equal(t, 4, strings.Count(svg, `class="line s`))
	require.Equal(t, 6, strings.Count(svg, `class="line other"`))
	require.Regexp(t, `>Grey: curve A, curve B, curve C, curve H, curve I,<`, svg)
	require.Less(t, strings.Index(svg, `class="line other"`), strings.Index(svg, `class="line s0"`), "colours over grey")
	var places []float64
	for _, m := range regexp.MustCompile(`y="([\d.]+)" class="t\d" text-anchor="start">curve [D-G]<`).FindAllStringSubmatch(svg, -1) {
		y, err := strconv.ParseFloat(m[1], 64)
		require.NoError(t, err)
		places = append(places, y)
	}
	require.Len(t, places, 4)
	for k := range 3 {
		require.GreaterOrEqual(t, places[k+1]-places[k], 14.9)
	}
}

// A few outliers do not flatten the rest: they are cut off, and a note says so.
func TestChartCutsOutliers(t *testing.T) {
	t.Parallel()
	flat := Series{Name: "flat"}
	for k := range 100 {
		flat.X, flat.Y = append(flat.X, float64(k)), append(flat.Y, 1)
	}
	svg, err := Chart{Series: []Series{flat}}.SVG()
	require.NoError(t, err)
	require.NotContains(t, string(svg), "Cut off")
	flat.Y[0] = 77
	svg, err = Chart{Series: []Series{flat}}.SVG()
	require.NoError(t, err)
	require.Contains(t, string(svg), "Cut off above: flat (up to 77)")
	require.NotContains(t, string(svg), ">77<", "the axis ends before")
	flat.Y[0], flat.Y[98], flat.Y[99] = 1, 77, 77 // as of changes that come at the end
	svg, err = Chart{Series: []Series{flat}, Sums: true}.SVG()
	require.NoError(t, err)
	require.NotContains(t, string(svg), "Cut off")
}

// So are outliers below, of an axis that does not begin at 0, unless their curve is in colour.
func TestChartCutsOutliersBelow(t *testing.T) {
	t.Parallel()
	main, grey := Series{Name: "main", Main: true}, Series{Name: "grey"}
	for k := range 100 {
		main.X, main.Y = append(main.X, float64(k)), append(main.Y, 0.9+float64(k)/1000)
		grey.X, grey.Y = append(grey.X, float64(k)), append(grey.Y, 0.9+float64(k)/1000)
	}
	grey.Y[99] = 0.1
	svg, err := Chart{Series: []Series{main, grey}, Zoom: true}.SVG()
	require.NoError(t, err)
	require.Contains(t, string(svg), "Cut off below: grey (down to 0.1)")
	require.NotContains(t, string(svg), ">0.2<", "the axis begins after")
	main.Y[0] = 0.1
	svg, err = Chart{Series: []Series{main, grey}, Zoom: true}.SVG()
	require.NoError(t, err)
	require.Contains(t, string(svg), ">0.2<")
}

// Means of runs that are all alike differ by rounding alone. That is no range for an axis.
func TestChartOfEqualValues(t *testing.T) {
	t.Parallel()
	ones, almost := Series{Name: "ones", Main: true}, Series{Name: "almost"}
	for k := range 25 {
		ones.X, ones.Y = append(ones.X, float64(k)), append(ones.Y, 1)
		almost.X, almost.Y = append(almost.X, float64(k)), append(almost.Y, 1)
	}
	almost.Y[0] -= 1e-16
	for _, zoom := range []bool{false, true} {
		svg, err := Chart{X: "days", Y: "share", Zoom: zoom, Series: []Series{ones, almost}}.SVG()
		require.NoError(t, err)
		require.NotContains(t, string(svg), "Cut off")
		require.Less(t, len(svg), 10_000)
	}
}

func TestTicks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ low, high float64 }{{0, 822}, {0, 8964}, {0.67, 0.97}, {-1, 1}, {4.1, 4.2}, {0, 39}, {0, 41}} {
		marks := Ticks(c.low, c.high)
		require.GreaterOrEqual(t, len(marks), 3, c)
		require.LessOrEqual(t, len(marks), 11, c)
		for _, v := range marks {
			require.True(t, v >= c.low && v <= c.high*(1+1e-9))
			require.NotEqual(t, "−0", Tick(v))
		}
	}
	require.Equal(t, []float64{20, 50, 100, 200}, scale{low: 20, high: 200, log: true}.ticks())
	narrow := scale{low: 0, high: 90, from: 0, to: 150}
	require.Equal(t, 1, narrow.labelled([]float64{0, 50}))
	require.Equal(t, 2, narrow.labelled([]float64{0, 10, 20, 30, 40, 50, 60, 70, 80, 90}))
	require.Equal(t, "12\u202f345\u202f678", Tick(12345678))
	require.Equal(t, "−25\u202f000", Tick(-25000))
	require.Equal(t, "0.25", Tick(0.25))
}
