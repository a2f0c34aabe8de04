// Package report is what the examples share: the command line ([Program]), tables for
// people, rows for machines, progress bars, and pictures in self-contained SVG and HTML.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Row is one figure of an example: what a paper states, and what was measured
// here. Published and Measured hold nil, a number or a slice of numbers.
type Row struct {
	Source    string   `json:"source"`    // the paper and its figure, or "recrawl" for our own
	Item      string   `json:"item"`      // what was run: scheme, environment, setting
	Quantity  string   `json:"quantity"`  // what was measured
	Unit      string   `json:"unit"`      // its unit, "1" for a ratio
	Published any      `json:"published"` // nil where no paper states it
	Measured  any      `json:"measured"`  // a number, or one for each point of a curve
	SD        *float64 `json:"sd"`        // standard deviation over the runs; nil for one or a curve
	Runs      int      `json:"runs"`      // replications behind Measured
}

// Sample sets Measured, SD and Runs to the mean, standard deviation and number
// of the values. Measured and SD are nil where one of them is not finite, as a ratio
// to nothing: JSON has no such numbers.
func (r Row) Sample(values []float64) Row {
	mean, sd := MeanSD(values)
	r.Runs = len(values)
	if !finite(mean) {
		return r
	}
	r.Measured = mean
	if len(values) > 1 {
		r.SD = &sd
	}
	return r
}

// MeanSD returns the mean and the sample standard deviation (0 for fewer than
// two values).
func MeanSD(values []float64) (mean, sd float64) {
	if len(values) == 0 {
		return math.NaN(), 0
	}
	for _, v := range values {
		mean += v
	}
	mean /= float64(len(values))
	if len(values) < 2 {
		return mean, 0
	}
	for _, v := range values {
		sd += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(sd / float64(len(values)-1))
}

// MeanCurve returns the mean of curves, point by point; one that ended keeps its last value.
func MeanCurve(curves [][]float64) []float64 {
	longest := 0
	for _, c := range curves {
		longest = max(longest, len(c))
	}
	mean := make([]float64, longest)
	for _, c := range curves {
		for x := range mean {
			mean[x] += c[min(x, len(c)-1)] / float64(len(curves))
		}
	}
	return mean
}

// WriteJSON writes v, for most examples a []Row, as indented JSON.
func WriteJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", " ")
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// WriteRows writes rows as a table for people.
func WriteRows(w io.Writer, rows []Row) error {
	cells := make([][]string, len(rows))
	for i, r := range rows {
		measured := Format(r.Measured)
		if r.SD != nil {
			measured += " ± " + Format(*r.SD)
		}
		cells[i] = []string{r.Source, r.Item, r.Quantity, Format(r.Published), measured, r.Unit, strconv.Itoa(r.Runs)}
	}
	return WriteTable(w, []string{"source", "item", "quantity", "published", "measured", "unit", "runs"}, cells)
}

// ColumnsOfRows says what the columns of a table of rows mean.
const ColumnsOfRows = "Source: the paper and its figure, or recrawl for our own. Published: what it states, – where it states nothing. " +
	"Measured: the mean over the runs; sd: their standard deviation."

// RowsSection returns a section of a page with a table of rows.
func RowsSection(title string, rows []Row) Section {
	s := Section{Title: title, Text: ColumnsOfRows, Header: []string{"source", "item", "quantity", "published", "measured", "sd", "unit", "runs"}}
	for _, r := range WithoutCurves(rows) {
		sd := "–"
		if r.SD != nil {
			sd = Format(*r.SD)
		}
		s.Rows = append(s.Rows, []string{r.Source, r.Item, r.Quantity, Format(r.Published), Format(r.Measured), sd, r.Unit, strconv.Itoa(r.Runs)})
	}
	return s
}

// Format gives a figure with four significant digits, "–" for nil, and a slice
// as its values with blanks between them.
func Format(v any) string {
	switch v := v.(type) {
	case nil:
		return "–"
	case float64:
		if a := math.Abs(v); a >= 1000 && a < 1e15 {
			return strconv.FormatFloat(v, 'f', 0, 64)
		}
		return strconv.FormatFloat(v, 'g', 4, 64)
	case []float64:
		s := make([]string, len(v))
		for i := range v {
			s[i] = Format(v[i])
		}
		return strings.Join(s, " ")
	default:
		return fmt.Sprint(v)
	}
}

// Count says a number of things, whose plural ends in s.
func Count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// WriteTable writes aligned columns: those whose cells are all numbers to the
// right, others to the left.
func WriteTable(w io.Writer, header []string, rows [][]string) error {
	width := make([]int, len(header))
	right := make([]bool, len(header))
	for c, h := range header {
		width[c], right[c] = utf8.RuneCountInString(h), len(rows) > 0
		for _, row := range rows {
			width[c] = max(width[c], utf8.RuneCountInString(row[c]))
			right[c] = right[c] && numeric(row[c])
		}
	}
	var b strings.Builder
	line := func(row []string) {
		for c, cell := range row {
			pad := strings.Repeat(" ", width[c]-utf8.RuneCountInString(cell))
			switch {
			case right[c]:
				b.WriteString(pad + cell)
			case c == len(row)-1:
				b.WriteString(cell)
			default:
				b.WriteString(cell + pad)
			}
			if c < len(row)-1 {
				b.WriteString("  ")
			}
		}
		b.WriteByte('\n')
	}
	line(header)
	rule := make([]string, len(header))
	for c := range rule {
		rule[c] = strings.Repeat("-", width[c])
	}
	line(rule)
	for _, row := range rows {
		line(row)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

const number = `([+−-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?( ?%)?|[+-]?Inf|NaN)`

var numbers = regexp.MustCompile(`^(–|` + number + `( ((±|of) )?` + number + `)*)?$`)

// numeric reports whether a cell holds numbers and nothing else, as "0.5", "1.2 ± 0.1", "12 %",
// "3 of 4" or "1 2 3", or stands for a missing one.
func numeric(cell string) bool { return numbers.MatchString(cell) }
