package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/recrawl/recrawl/examples/internal/report"
)

// A Verdict says how a published figure stands beside the measured one.
type Verdict string

// The verdicts, as the program explains them under -h.
const (
	Reproduced    Verdict = "reproduced"
	Differs       Verdict = "differs"
	Fitted        Verdict = "fitted"
	FittedDiffers Verdict = "fitted, and differs"
	NotStated     Verdict = "not stated"
)

var verdicts = []Verdict{Reproduced, Differs, Fitted, FittedDiffers, NotStated}

// A Row is one figure, or one sentence, of a paper beside what was measured.
type Row struct {
	report.Row
	Verdict Verdict `json:"verdict"`
	// Why says what a reader must know to understand the verdict. A row that differs or is fitted has it.
	Why string `json:"why"`
	// Instead is what this library recommends, in the same experiment, nil where it has nothing
	// to recommend.
	Instead *Instead `json:"instead"`
}

// An Instead is another method in the experiment of a row.
type Instead struct {
	Name     string   `json:"name"`
	Measured float64  `json:"measured"`
	SD       *float64 `json:"sd"`
	Runs     int      `json:"runs"`
}

// spreads is how many standard deviations a published figure may be away from the mean: of a run if
// it is one, where 95 % are within if runs are about normal, and of the difference of two means if
// it is a mean.
const spreads = 2

// sure is the share of the runs in which a sentence must hold.
const sure = 0.9

// exact compares figures that do not depend on chance. within is half a unit of the last digit
// published, or what a row says.
func exact(item, quantity, unit string, published, measured, within float64) Row {
	r := Row{Row: report.Row{Item: item, Quantity: quantity, Unit: unit, Published: published, Measured: measured, Runs: 1}, Verdict: Differs}
	if math.Abs(published-measured) <= within {
		r.Verdict = Reproduced
	}
	return r
}

// computed is a figure that does not depend on chance and is not published.
func computed(item, quantity, unit string, measured any) Row {
	return Row{Row: report.Row{Item: item, Quantity: quantity, Unit: unit, Measured: measured, Runs: 1}, Verdict: NotStated}
}

// sampled is the mean of some runs, beside nothing published.
func sampled(item, quantity, unit string, values []float64) Row {
	return Row{Row: report.Row{Item: item, Quantity: quantity, Unit: unit}.Sample(values), Verdict: NotStated}
}

// compared is the mean of some runs beside the published figure of a single run.
func compared(item, quantity, unit string, published float64, values []float64) Row {
	_, sd := report.MeanSD(values)
	return within(item, quantity, unit, published, values, spreads*sd)
}

// comparedMeans is the mean of some runs beside a published mean of so many runs.
func comparedMeans(item, quantity, unit string, published float64, runs int, values []float64) Row {
	_, sd := report.MeanSD(values)
	return within(item, quantity, unit, published, values, spreads*sd*math.Sqrt(1/float64(runs)+1/float64(len(values))))
}

func within(item, quantity, unit string, published float64, values []float64, off float64) Row {
	r := sampled(item, quantity, unit, values)
	r.Published = published
	mean, _ := report.MeanSD(values)
	r.Verdict = Differs
	if math.Abs(published-mean) <= off+1e-9*math.Abs(published) {
		r.Verdict = Reproduced
	}
	return r
}

// comparedAll is compared for several figures at once, the values of run r in values[r]. The
// verdict is about all of them.
func comparedAll(item, quantity, unit string, published []float64, values [][]float64) Row {
	r := Row{Row: report.Row{Item: item, Quantity: quantity, Unit: unit, Published: published, Runs: len(values)}}
	means, same := make([]float64, len(published)), 0
	for k, p := range published {
		one := compared("", "", "", p, column(values, k))
		if means[k] = one.Measured.(float64); one.Verdict == Reproduced {
			same++
		}
	}
	r.Measured, r.Verdict = means, Differs
	if same == len(published) {
		r.Verdict = Reproduced
	}
	r.Why = fmt.Sprintf("%d of %d within %d standard deviations.", same, len(published), spreads)
	return r
}

// sentence says in what share of the runs a sentence of the paper holds.
func sentence(text string, holds []bool) Row {
	values := make([]float64, len(holds))
	for k, yes := range holds {
		if yes {
			values[k] = 1
		}
	}
	mean, _ := report.MeanSD(values)
	r := Row{Row: report.Row{Item: text, Quantity: "share of runs in which it holds", Unit: "1", Published: 1.0, Measured: mean, Runs: len(holds)}, Verdict: Differs}
	if mean >= sure {
		r.Verdict = Reproduced
	}
	return r
}

// over sets the number of runs.
func (r Row) over(runs int) Row {
	r.Runs = runs
	return r
}

// diagram is a figure without anything to measure.
func diagram(place, shows string) figure {
	return figure{place: place, rows: []Row{{Row: report.Row{Item: shows, Quantity: "a diagram"}, Verdict: NotStated, Why: "There is nothing to measure."}}}
}

// because adds a reason.
func (r Row) because(format string, args ...any) Row {
	r.Why = strings.TrimSpace(r.Why + " " + fmt.Sprintf(format, args...))
	return r
}

// whereDiffers adds a reason if the row differs, fitted or not.
func (r Row) whereDiffers(format string, args ...any) Row {
	if r.Verdict == Differs || r.Verdict == FittedDiffers {
		return r.because(format, args...)
	}
	return r
}

// fitted marks a row whose setting was chosen to match, and says which. What the comparison found
// stays to be seen.
func (r Row) fitted(format string, args ...any) Row {
	if r.Verdict == Differs {
		r.Verdict = FittedDiffers
	} else {
		r.Verdict = Fitted
	}
	return r.because(format, args...)
}

// instead adds what the library recommends.
func (r Row) instead(name string, values []float64) Row {
	mean, sd := report.MeanSD(values)
	r.Instead = &Instead{Name: name, Measured: mean, Runs: len(values)}
	if len(values) > 1 {
		r.Instead.SD = &sd
	}
	return r
}

// column returns element k of all runs.
func column(values [][]float64, k int) []float64 {
	c := make([]float64, len(values))
	for i, v := range values {
		c[i] = v[k]
	}
	return c
}

// each maps runs to numbers.
func each[T, V any](runs []T, f func(T) V) []V {
	values := make([]V, len(runs))
	for i, r := range runs {
		values[i] = f(r)
	}
	return values
}

// steps returns step, 2·step, …, n·step.
func steps(n int, step float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(i+1) * step
	}
	return x
}

func rowsOf(results []result) []Row {
	rows := []Row{}
	for _, r := range results {
		for _, f := range r.figures {
			rows = append(rows, f.rows...)
		}
	}
	return rows
}

// counts counts the verdicts.
func counts(rows []Row) map[Verdict]int {
	n := map[Verdict]int{}
	for _, r := range rows {
		n[r.Verdict]++
	}
	return n
}

// tally writes the counts in words.
func tally(rows []Row) string {
	n := counts(rows)
	return fmt.Sprintf("%d reproduced, %d differ, %d fitted, %d fitted and differ, %d not stated",
		n[Reproduced], n[Differs], n[Fitted], n[FittedDiffers], n[NotStated])
}

// withSD writes a figure with its spread.
func withSD(v any, sd *float64) string {
	if many, ok := v.([]float64); ok && len(many) > 6 {
		return fmt.Sprintf("%d values", len(many))
	}
	s := report.Format(v)
	if sd != nil && *sd > 0 {
		digits := 2
		if *sd >= 100 {
			digits = int(math.Log10(*sd)) + 1
		}
		s += " ± " + strconv.FormatFloat(*sd, 'g', digits, 64)
	}
	return s
}

// asPrinted writes published figures with all their digits, and exact ones with as many as count.
func asPrinted(v any, digits int) string {
	x, ok := v.(float64)
	if !ok {
		return withSD(v, nil)
	}
	return strconv.FormatFloat(x, 'g', digits, 64)
}

// cells are the columns of a row after its place.
func (r Row) cells() []string {
	runs, instead := "", ""
	if r.Runs > 0 {
		runs = fmt.Sprint(r.Runs)
	}
	if r.Instead != nil {
		instead = r.Instead.Name + ": " + withSD(r.Instead.Measured, r.Instead.SD)
	}
	quantity := r.Quantity
	if r.Unit != "" && r.Unit != "1" {
		quantity += " (" + r.Unit + ")"
	}
	published, measured := asPrinted(r.Published, -1), withSD(r.Measured, r.SD)
	if r.Published != nil && r.Runs == 1 {
		measured = asPrinted(r.Measured, max(4, strings.Count(published, "")-2)) // as many digits as published
	}
	return []string{r.Item, quantity, published, measured, runs, string(r.Verdict), r.Why, instead}
}

var header = []string{"what", "quantity", "published", "measured", "runs", "verdict", "why", "recommended instead"}

// writeTables writes all rows as tables.
func writeTables(w io.Writer, results []result) error {
	for _, r := range results {
		if _, err := fmt.Fprintf(w, "%s: %s\n\n", r.name, r.title); err != nil {
			return err
		}
		for _, f := range r.figures {
			var rows [][]string
			for _, row := range f.rows {
				rows = append(rows, row.cells())
			}
			fmt.Fprintf(w, "%s\n\n", f.place)
			if err := report.WriteTable(w, header, rows); err != nil {
				return err
			}
			fmt.Fprintln(w)
		}
	}
	_, err := fmt.Fprintf(w, "In all: %s.\n", tally(rowsOf(results)))
	return err
}

// asMarkdown writes the tables of RESULTS.md: the counts, then the rows for which something is
// published. A reason that is that of the row above is not repeated.
func asMarkdown(results []result) string {
	var b strings.Builder
	line := func(cells ...string) {
		for k, c := range cells {
			cells[k] = strings.ReplaceAll(c, "|", "\\|")
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	head := []string{"paper"}
	for _, v := range verdicts {
		head = append(head, string(v))
	}
	line(head...)
	line(slices.Repeat([]string{"---"}, len(head))...)
	count := func(name string, rows []Row) {
		n, cells := counts(rows), []string{name}
		for _, v := range verdicts {
			cells = append(cells, fmt.Sprint(n[v]))
		}
		line(cells...)
	}
	for _, r := range results {
		count(r.name, rowsOf([]result{r}))
	}
	count("in all", rowsOf(results))
	for _, r := range results {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n", r.name, wrap(r.about, 100))
		if notes := notesOf(r.figures); notes != "" {
			fmt.Fprintf(&b, "%s\n", notes)
		}
		line(append([]string{"place"}, header...)...)
		line(slices.Repeat([]string{"---"}, len(header)+1)...)
		for _, f := range r.figures {
			why := ""
			for _, row := range f.rows {
				if !f.shows(row) {
					continue
				}
				cells := row.cells()
				if cells[6] == why && why != "" {
					cells[6] = "″"
				} else {
					why = cells[6]
				}
				line(append([]string{f.place}, cells...)...)
			}
		}
	}
	return b.String()
}

// shows reports whether RESULTS.md has a row.
func (f figure) shows(row Row) bool { return row.Published != nil || f.whole }

// notesOf lists the texts of the figures that have rows in RESULTS.md: their settings.
func notesOf(figures []figure) string {
	var b strings.Builder
	for _, f := range figures {
		if f.text == "" || !slices.ContainsFunc(f.rows, f.shows) {
			continue
		}
		lines := wrap(f.place+": "+f.text, 98)
		fmt.Fprintf(&b, "* %s\n", strings.ReplaceAll(lines, "\n", "\n  "))
	}
	return b.String()
}

// wrap breaks a text into lines of at most so many letters.
func wrap(text string, letters int) string {
	var b strings.Builder
	n := 0
	for _, word := range strings.Fields(text) {
		switch length := utf8.RuneCountInString(word); {
		case n == 0:
			n = length
		case n+1+length > letters:
			b.WriteByte('\n')
			n = length
		default:
			b.WriteByte(' ')
			n += 1 + length
		}
		b.WriteString(word)
	}
	return b.String()
}
