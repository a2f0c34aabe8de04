package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/internal/report"
)

// rowsFrom runs the program with -quick -json.
func rowsFrom(t *testing.T, args ...string) (rows []Row) {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, run(append(args, "-json", "-quick"), &out, io.Discard))
	require.NoError(t, json.Unmarshal(out.Bytes(), &rows))
	require.NotEmpty(t, rows)
	return rows
}

// The rows that do not depend on chance, with one page and the files beside it.
func TestExactParts(t *testing.T) {
	t.Parallel()
	const exactParts = "granmo-exact,yazidi-exact,pechnikov-model"
	dir := t.TempDir()
	rows := rowsFrom(t, "-only", exactParts, "-out", dir)
	published := 0
	for _, r := range rows {
		require.NotEmpty(t, r.Source)
		require.NotEmpty(t, r.Item)
		require.NotEmpty(t, r.Quantity, r.Item)
		if r.Verdict == Differs {
			require.NotEmpty(t, r.Why, r.Item)
		}
		if r.Published != nil {
			published++
		}
	}
	require.Greater(t, published, 4)

	text, err := os.ReadFile(filepath.Join(dir, "papers.html"))
	require.NoError(t, err)
	page := string(text)
	require.NotContains(t, strings.ReplaceAll(page, "http://www.w3.org/", ""), "http")
	require.NotContains(t, page, "<script")
	require.Contains(t, page, "go run ./examples/papers")
	for _, v := range verdicts {
		require.Contains(t, page, `<b class="`+fileName(string(v))+`">`, "the legend")
		require.Contains(t, page, "."+fileName(string(v))+"{color:")
	}
	pictures, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	require.NoError(t, err)
	require.Equal(t, len(pictures), strings.Count(page, "<svg "))
	for _, file := range pictures {
		svg, err := os.ReadFile(file)
		require.NoError(t, err)
		require.NoError(t, xml.Unmarshal(svg, new(struct{})), file)
	}
}

func TestSameSeedSameBytes(t *testing.T) {
	t.Parallel()
	formats := []string{"-json", "-markdown", "-quick"}
	if testing.Short() {
		formats = nil // the goroutines are the same for all; the pages below run them
	}
	for _, format := range formats {
		var first, second bytes.Buffer
		args := []string{"-quick", format, "-seed", "7", "-only", sameSeedParts}
		require.NoError(t, run(args, &first, io.Discard))
		require.NoError(t, run(args, &second, io.Discard))
		require.NotEmpty(t, first.String())
		require.Equal(t, first.String(), second.String())
	}
	pages := make([]string, 2)
	for k := range pages {
		dir := t.TempDir()
		require.NoError(t, run([]string{"-quick", "-json", "-seed", "7", "-only", sameSeedParts, "-out", dir}, io.Discard, io.Discard))
		page, err := os.ReadFile(filepath.Join(dir, "papers.html"))
		require.NoError(t, err)
		pages[k] = string(page)
	}
	require.Equal(t, pages[0], pages[1])
}

// Every numbered figure and table of the papers has a row, and every row a verdict that fits.
func TestAllParts(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("some ten seconds")
	}
	l := &lab{Program: newProgram(t), brief: true}
	l.Quick, l.Out = true, t.TempDir()
	results, err := l.measure(papers)
	require.NoError(t, err)
	sources := map[string]bool{}
	for _, r := range rowsOf(results) {
		sources[r.Source] = true
		require.Contains(t, verdicts, r.Verdict)
		switch {
		case r.Published == nil:
			require.Equal(t, NotStated, r.Verdict, r.Item)
		case r.Verdict == Differs || r.Verdict == Fitted || r.Verdict == FittedDiffers:
			require.NotEmpty(t, r.Why, "%s: %s: %s", r.Source, r.Item, r.Quantity)
		default:
			require.Equal(t, Reproduced, r.Verdict, r.Item)
		}
		// What was fitted to is fitted, whatever the figures say.
		if strings.Contains(r.Item, fittedScheme.name) && r.Published != nil && strings.Contains(r.Quantity, "crawls until") {
			require.Contains(t, []Verdict{Fitted, FittedDiffers}, r.Verdict, "%s: %s", r.Source, r.Item)
		}
	}
	for _, set := range settings { // also where they run for long: -quick leaves no published figure out
		ran, paired := false, false
		for _, r := range rowsOf(results) {
			same := r.Published == set.crawls && r.Verdict != NotStated
			ran = ran || same && r.Source == chenWang.name+", "+set.place
			paired = paired || same && strings.HasPrefix(r.Item, set.place+", ")
		}
		require.True(t, ran && paired, set.place)
	}
	for _, p := range papers {
		require.NotEmpty(t, p.places)
		for _, place := range p.places {
			require.True(t, sources[p.name+", "+place], "%s, %s", p.name, place)
		}
	}
	require.NoError(t, l.draw(results))
	ids := map[string]bool{}
	for _, r := range results {
		for _, f := range r.figures {
			id := r.id + fileName(f.place)
			require.False(t, ids[id], "%s twice", id)
			ids[id] = true
		}
	}
	page, err := os.ReadFile(filepath.Join(l.Out, "papers.html"))
	require.NoError(t, err)
	require.Greater(t, strings.Count(string(page), "<svg "), 20)
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"-only", "nonsense"}, {"-only", ","}, {"-only", "granmo,"}, {"-json", "-markdown"}, {"granmo"}, {"-seed", "x"},
		{"-seed", "4294967296", "-only", "yazidi-exact"}} {
		require.ErrorAs(t, run(args, io.Discard, io.Discard), new(report.UsageError), "%v", args)
	}
	require.NoError(t, run([]string{"-seed", "4294967295", "-only", "yazidi-exact"}, io.Discard, io.Discard))
	chosen, total, err := choose("granmo, granmo-exact")
	require.NoError(t, err)
	require.Len(t, chosen, 1)
	require.Len(t, chosen[0].parts, len(granmo.parts), "no part twice")
	require.Positive(t, total)
}

// The verdicts.
func TestVerdicts(t *testing.T) {
	t.Parallel()
	require.Equal(t, Reproduced, exact("", "", "", 2, 2.04, .05).Verdict)
	require.Equal(t, Differs, exact("", "", "", 2, 2.06, .05).Verdict)
	values := []float64{1, 2, 3} // sd 1
	require.Equal(t, Reproduced, compared("", "", "", 3.9, values).Verdict)
	require.Equal(t, Differs, compared("", "", "", 4.1, values).Verdict)
	require.Equal(t, Reproduced, compared("", "", "", 5, []float64{5, 5}).Verdict)
	// The difference of a mean of 6 and one of 3 has the standard deviation √(1/6 + 1/3) = 0.707.
	require.Equal(t, Reproduced, comparedMeans("", "", "", 3.4, 6, values).Verdict)
	require.Equal(t, Differs, comparedMeans("", "", "", 3.45, 6, values).Verdict)
	require.Equal(t, Fitted, compared("", "", "", 2, values).fitted("chosen").whereDiffers("not said").Verdict)
	require.Equal(t, "chosen", compared("", "", "", 2, values).fitted("chosen").whereDiffers("not said").Why)
	apart := compared("", "", "", 4.1, values).fitted("chosen").whereDiffers("far")
	require.Equal(t, FittedDiffers, apart.Verdict)
	require.Equal(t, "chosen far", apart.Why)
	require.Equal(t, NotStated, sampled("", "", "", values).Verdict)
	require.Nil(t, sampled("", "", "", values).Published)
	all := comparedAll("", "", "", []float64{2, 4.1}, [][]float64{{1, 1}, {2, 2}, {3, 3}})
	require.Equal(t, Differs, all.Verdict)
	require.Contains(t, all.Why, "1 of 2")
	require.Equal(t, []float64{2, 2}, all.Measured)
	require.Equal(t, Reproduced, comparedAll("", "", "", []float64{2, 3.9}, [][]float64{{1, 1}, {2, 2}, {3, 3}}).Verdict)
	holds := []bool{true, true, true, true, true, true, true, true, true, false}
	require.Equal(t, Reproduced, sentence("", holds).Verdict)
	require.Equal(t, Differs, sentence("", holds[8:]).Verdict)
	require.Equal(t, 0.9, sentence("", holds).Measured)
	r := sampled("", "", "", values).instead("other", []float64{2, 4})
	require.Equal(t, 3., r.Instead.Measured)
	require.InDelta(t, math.Sqrt2, *r.Instead.SD, 1e-12)
	require.Equal(t, "1 reproduced, 1 differ, 0 fitted, 1 fitted and differ, 1 not stated", tally([]Row{all, r, sentence("", holds), apart}))
	table := asMarkdown([]result{{figures: []figure{{rows: []Row{all, r, sentence("", holds), apart}}}}})
	require.Contains(t, table, "| paper | reproduced | differs | fitted | fitted, and differs | not stated |")
	require.Contains(t, table, "| in all | 1 | 1 | 0 | 1 | 1 |")
	// Settings are told of figures that the tables have.
	table = asMarkdown([]result{{figures: []figure{{place: "figure 1", text: "8 arms.", rows: []Row{all}}, {place: "figure 2", text: "9 arms.", rows: []Row{r}}}}})
	require.Contains(t, table, "\n* figure 1: 8 arms.\n\n| place")
	require.NotContains(t, table, "9 arms")
	for _, v := range verdicts {
		require.Regexp(t, "(?m)^  "+string(v)+"( |$)", intro)
	}
}

// sameSeedParts are quick, and draw numbers on all processors.
const sameSeedParts = "granmo-exact,pechnikov-table"

// newProgram returns a program with nothing on its command line.
func newProgram(t *testing.T) *report.Program {
	t.Helper()
	p := report.NewProgram("papers", "", "", io.Discard, io.Discard)
	require.NoError(t, p.Parse(nil))
	return p
}
