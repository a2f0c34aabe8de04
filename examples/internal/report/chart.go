package report

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Chart is a picture of curves: at most four in colours, with their names at their ends,
// and the others in grey, with their names below.
type Chart struct {
	Title      string
	X, Y       string // what the axes show, with units
	LogX, LogY bool
	Zoom       bool // the y axis need not begin at 0, as no lengths are compared
	Sums       bool // of all so far: what they come to is no outlier, and is shown
	Series     []Series
	Made       string // the command line that made it, for the last line; empty for none
}

// A Series is one curve. Points that are not finite are left out.
type Series struct {
	Name   string
	X, Y   []float64
	Dashed bool // for a bound or a reference
	// Main has the curve drawn in a colour. If no series of a chart is Main, the first
	// four are.
	Main bool
}

// mostMain is the number of curves in colours: more are not told apart.
const mostMain = 4

// Sizes of a chart in units of its viewBox. A phone shows 440 units on some 358 pixels, so
// that text of 13 units is more than 10 pixels high.
const (
	chartWidth = 440
	plotHeight = 230
	textSize   = 13
	letter     = 7.9 // width of a letter of textSize in a wide font, about
	capital    = 8.6 // with capitals among them
	lineHeight = 17
)

// Theme is the style of all pictures, in light and dark: the page may be either, so a
// picture paints its whole canvas.
const Theme = `<style>
.pic{font:13px system-ui,sans-serif}
.pic .bg{fill:#fff}.pic text{fill:#1b1b1f}.pic .soft{fill:#55565c}.pic .grid{stroke:#dcdce0}.pic .axis{stroke:#55565c}
.pic .line{fill:none;stroke-width:1.8;stroke-linejoin:round}.pic .other{stroke:#b9bac0;stroke-width:1.1}
.pic .s0{stroke:#0b62b8}.pic .s1{stroke:#b65200}.pic .s2{stroke:#1a7a2e}.pic .s3{stroke:#8e3aa8}
.pic text.t0{fill:#0b62b8}.pic text.t1{fill:#b65200}.pic text.t2{fill:#1a7a2e}.pic text.t3{fill:#8e3aa8}
.pic .b0{fill:#3f78b0}.pic .b1{fill:#84aed6}.pic .lost{fill:#d08a8a}.pic .bound{stroke:#b3261e}
@media (prefers-color-scheme:dark){
.pic .bg{fill:#16181d}.pic text{fill:#e8e8ec}.pic .soft{fill:#a9abb3}.pic .grid{stroke:#33363d}.pic .axis{stroke:#a9abb3}
.pic .other{stroke:#565a63}
.pic .s0{stroke:#6cb2ff}.pic .s1{stroke:#ffa152}.pic .s2{stroke:#63d17d}.pic .s3{stroke:#d993f5}
.pic text.t0{fill:#6cb2ff}.pic text.t1{fill:#ffa152}.pic text.t2{fill:#63d17d}.pic text.t3{fill:#d993f5}
.pic .b0{fill:#5b9bd8}.pic .b1{fill:#335f8a}.pic .lost{fill:#a85757}.pic .bound{stroke:#ff8a80}
}
</style>`

// Canvas returns the beginning of a picture, with its whole area painted. What label says
// is read aloud. The caller ends it with </svg>.
func Canvas(width, height float64, label string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" class="pic" viewBox="0 0 %g %g" role="img" aria-label="%s">%s<rect class="bg" width="100%%" height="100%%"/>`,
		width, height, html.EscapeString(label), Theme)
}

// Text returns a line of text. The class is that of an element of the Theme, or empty;
// anchor is start, middle or end.
func Text(x, y float64, class, anchor, text string) string {
	return fmt.Sprintf(`<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>`, x, y, class, anchor, html.EscapeString(text))
}

// A curve is a series as it is drawn.
type curve struct {
	Series
	colour int // 0 to mostMain-1, or -1 for grey
	x, y   []float64
}

func (c curve) end() float64 { return c.y[len(c.y)-1] }

// curves returns the series that have points, those in colours last, so that they are drawn
// over the others.
func (c Chart) curves() ([]curve, error) {
	chosen := slices.ContainsFunc(c.Series, func(s Series) bool { return s.Main })
	var all []curve
	colours := 0
	for _, s := range c.Series {
		if len(s.X) != len(s.Y) {
			return nil, fmt.Errorf("chart %q, series %q: %d x and %d y", c.Title, s.Name, len(s.X), len(s.Y))
		}
		d := curve{Series: s, colour: -1}
		for k := range s.X {
			if finite(s.X[k]) && finite(s.Y[k]) && !(c.LogX && s.X[k] <= 0) && !(c.LogY && s.Y[k] <= 0) {
				d.x, d.y = append(d.x, s.X[k]), append(d.y, s.Y[k])
			}
		}
		if len(d.x) == 0 {
			continue
		}
		if (s.Main || !chosen) && colours < mostMain {
			d.colour = colours
			colours++
		}
		all = append(all, d)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("chart %q has no points", c.Title)
	}
	slices.SortStableFunc(all, func(a, b curve) int { return cmp.Compare(min(a.colour, 0), min(b.colour, 0)) })
	return all, nil
}

// cutoff returns the highest value to show, and a note if curves go beyond it: a few
// outliers, more than twice as high as 97 % of all points, would flatten the rest.
func cutoff(all []curve) (top float64, note string) {
	var values []float64
	for _, c := range all {
		values = append(values, c.y...)
	}
	slices.Sort(values)
	top = values[len(values)-1]
	most := values[int(0.97*float64(len(values)-1))]
	if len(values) < 20 || most <= 0 || top <= 2*most {
		return top, ""
	}
	var beyond []string
	for _, c := range all {
		if high := slices.Max(c.y); high > 1.2*most {
			beyond = append(beyond, fmt.Sprintf("%s (up to %s)", c.Name, Format(high)))
		}
	}
	return 1.2 * most, "Cut off above: " + strings.Join(beyond, ", ")
}

// cutoffBelow is cutoff for the lowest value, of an axis that does not begin at 0: a few outliers,
// further below 95 % of all points than those are from the highest, would flatten the rest. A curve
// in colour is shown whole.
func cutoffBelow(all []curve) (bottom float64, note string) {
	var values []float64
	shown := math.Inf(1)
	for _, c := range all {
		values = append(values, c.y...)
		if c.colour >= 0 {
			shown = min(shown, slices.Min(c.y))
		}
	}
	slices.Sort(values)
	bottom = values[0]
	most := values[int(0.05*float64(len(values)-1))]
	spread := values[len(values)-1] - most
	if len(values) < 20 || most-bottom <= spread || alike(bottom, most) {
		return bottom, ""
	}
	most = min(most-0.2*spread, shown)
	var beyond []string
	for _, c := range all {
		if low := slices.Min(c.y); low < most {
			beyond = append(beyond, fmt.Sprintf("%s (down to %s)", c.Name, Format(low)))
		}
	}
	if len(beyond) == 0 { // what is low is all in colour
		return bottom, ""
	}
	return most, "Cut off below: " + strings.Join(beyond, ", ")
}

// A scale maps values to places on an axis.
type scale struct {
	low, high float64 // values
	from, to  float64 // places
	log       bool
}

func (s scale) at(v float64) float64 {
	low, high := s.low, s.high
	if s.log {
		low, high, v = math.Log(low), math.Log(high), math.Log(v)
	}
	return s.from + (v-low)/(high-low)*(s.to-s.from)
}

// ticks returns round values within the scale.
func (s scale) ticks() []float64 {
	if s.log {
		var marks []float64
		digits := []float64{1, 2, 5}
		if s.high/s.low > 1e3 {
			digits = digits[:1]
		}
		for power := math.Pow(10, math.Floor(math.Log10(s.low))); power <= s.high; power *= 10 {
			for _, d := range digits {
				if v := d * power; v >= s.low && v <= s.high*(1+1e-9) {
					marks = append(marks, v)
				}
			}
		}
		return marks
	}
	return Ticks(s.low, s.high)
}

// labelled returns how many marks, counted from the last, there must be from one label to
// the next so that none runs into another.
func (s scale) labelled(marks []float64) (every int) {
	width := func(v float64) float64 { return letter * float64(len([]rune(Tick(v)))+1) }
	for every = 1; every < len(marks); every++ {
		free := true
		for k := len(marks) - 1; k >= every; k -= every {
			a, b := marks[k-every], marks[k]
			free = free && s.at(b)-s.at(a) >= (width(a)+width(b))/2
		}
		if free {
			break
		}
	}
	return every
}

// Ticks returns 3 to 9 round values of low to high.
func Ticks(low, high float64) (marks []float64) {
	step := math.Pow(10, math.Floor(math.Log10((high-low)/4)))
	switch n := (high - low) / step; {
	case n >= 20:
		step *= 5
	case n >= 10:
		step *= 2
	}
	// Adding 0 turns −0 into 0.
	for k := math.Ceil(low/step) + 0; k*step <= high*(1+1e-12); k++ {
		marks = append(marks, k*step)
	}
	return marks
}

// Tick writes the value at a mark, with spaces between thousands.
func Tick(v float64) string {
	s := strconv.FormatFloat(v, 'g', 6, 64)
	if math.Abs(v) >= 1e4 && math.Abs(v) < 1e15 {
		s = strconv.FormatFloat(v, 'f', 0, 64)
		for k := len(s) - 3; k > 0 && s[k-1] != '-'; k -= 3 {
			s = s[:k] + "\u202f" + s[k:]
		}
	}
	return strings.Replace(s, "-", "−", 1)
}

// rangeOf returns the least and the greatest value of a coordinate.
func rangeOf(all []curve, of func(curve) []float64) (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, c := range all {
		low, high = min(low, slices.Min(of(c))), max(high, slices.Max(of(c)))
	}
	if alike(low, high) {
		low, high = low-0.5, high+0.5
	}
	return low, high
}

// alike reports whether two values look alike at the marks of an axis, which have six digits. Means of equal values
// differ by rounding: an axis that shows that has no end of marks.
func alike(low, high float64) bool {
	return high-low <= 1e-6*max(math.Abs(low), math.Abs(high))
}

// SVG draws the chart.
func (c Chart) SVG() ([]byte, error) {
	all, err := c.curves()
	if err != nil {
		return nil, err
	}
	var notes []string
	x := scale{log: c.LogX}
	x.low, x.high = rangeOf(all, func(c curve) []float64 { return c.x })
	y := scale{log: c.LogY}
	y.low, y.high = rangeOf(all, func(c curve) []float64 { return c.y })
	if !c.LogY {
		if top, note := cutoff(all); note != "" && !c.Sums {
			y.high, notes = top, append(notes, note)
		}
		if c.Zoom {
			if bottom, note := cutoffBelow(all); note != "" {
				y.low, notes = bottom, append(notes, note)
			}
		} else if y.low >= 0 {
			y.low = 0
		}
		y.high += (y.high - y.low) * 0.04
	}

	label := 0
	var grey []string
	for _, s := range all {
		if s.colour >= 0 {
			label = max(label, len([]rune(s.Name)))
		} else {
			grey = append(grey, s.Name)
		}
	}
	if len(grey) > 0 {
		notes = append(notes, "Grey: "+strings.Join(grey, ", "))
	}
	marks := 0
	for _, v := range y.ticks() {
		marks = max(marks, len([]rune(Tick(v))))
	}
	title := wrapped(c.Title, 48)
	const columns = 54 // letters of a line of notes
	top := 12 + lineHeight*float64(len(title)) + lineHeight
	x.from, x.to = 12+letter*float64(marks)+6, chartWidth-12-capital*float64(min(label, 24))
	y.from, y.to = top+plotHeight, top
	var lines []string
	for _, n := range notes {
		lines = append(lines, wrapped(n, columns)...)
	}
	if c.Made != "" {
		lines = append(lines, wrapped(c.Made, columns)...)
	}
	height := y.from + 3*lineHeight + lineHeight*float64(len(lines))

	var b strings.Builder
	b.WriteString(Canvas(chartWidth, height, c.label(all)))
	for k, line := range title {
		b.WriteString(strings.Replace(Text(12, 8+lineHeight*float64(k+1), "", "start", line), "<text", `<text font-weight="600"`, 1))
	}
	b.WriteString(Text(12, top-7, "soft", "start", c.Y))
	for _, v := range y.ticks() {
		fmt.Fprintf(&b, `<line class="grid" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, x.from, x.to, y.at(v), y.at(v))
		b.WriteString(Text(x.from-6, y.at(v)+4.5, "soft", "end", Tick(v)))
	}
	xTicks := x.ticks()
	every := x.labelled(xTicks)
	for k, v := range xTicks {
		fmt.Fprintf(&b, `<line class="axis" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, x.at(v), x.at(v), y.from, y.from+4)
		if (len(xTicks)-1-k)%every == 0 {
			b.WriteString(Text(x.at(v), y.from+18, "soft", "middle", Tick(v)))
		}
	}
	fmt.Fprintf(&b, `<line class="axis" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`, x.from, x.to, y.from, y.from)
	b.WriteString(Text(x.to, y.from+2*lineHeight, "soft", "end", c.X))
	for _, s := range all {
		b.WriteString(s.path(x, y))
	}
	labels(&b, all, x, y)
	for k, line := range lines {
		b.WriteString(Text(12, y.from+lineHeight*float64(k+3)+2, "soft", "start", line))
	}
	b.WriteString("</svg>\n")
	return []byte(b.String()), nil
}

// label describes the chart to those who do not see it.
func (c Chart) label(all []curve) string {
	var ends []string
	for _, s := range slices.Backward(all) {
		ends = append(ends, fmt.Sprintf("%s %s", s.Name, Format(s.end())))
	}
	return fmt.Sprintf("%s. Curves of %s against %s; at their ends: %s.", c.Title, c.Y, c.X, strings.Join(ends, ", "))
}

// path draws the curve, what lies above or below the scale along its edge.
func (c curve) path(x, y scale) string {
	var d strings.Builder
	for k := range c.x {
		fmt.Fprintf(&d, "%c%.1f %.1f", "ML"[min(k, 1)], x.at(c.x[k]), y.at(min(max(c.y[k], y.low), y.high)))
	}
	class, dash := "other", ""
	if c.colour >= 0 {
		class = fmt.Sprintf("s%d", c.colour)
	}
	if c.Dashed {
		dash = ` stroke-dasharray="6 4"`
	}
	line := fmt.Sprintf(`<path class="line %s"%s d="%s"><title>%s</title></path>`, class, dash, d.String(), html.EscapeString(c.Name))
	if end := x.at(c.x[len(c.x)-1]); c.colour >= 0 && end < x.to-1 { // it ends early: lead the eye to its name
		at := y.at(min(c.end(), y.high))
		line += fmt.Sprintf(`<path class="line %s" stroke-dasharray="1 4" d="M%.1f %.1fH%.1f"/>`, class, end, at, x.to)
		line += fmt.Sprintf(`<circle class="%s" fill="none" stroke-width="1.8" cx="%.1f" cy="%.1f" r="3"/>`, class, end, at)
	}
	return line
}

// labels writes the names of the coloured curves at their ends, moved apart where they
// would overlap.
func labels(b *strings.Builder, all []curve, x, y scale) {
	type label struct {
		curve
		at float64
	}
	var list []label
	for _, c := range all {
		if c.colour >= 0 {
			list = append(list, label{c, y.at(min(c.end(), y.high))})
		}
	}
	slices.SortStableFunc(list, func(a, b label) int { return cmp.Compare(a.at, b.at) })
	const gap = 15
	for k := 1; k < len(list); k++ {
		list[k].at = max(list[k].at, list[k-1].at+gap)
	}
	for k := len(list) - 1; k >= 0; k-- { // and not below the axis
		most := y.from
		if k < len(list)-1 {
			most = list[k+1].at - gap
		}
		list[k].at = min(list[k].at, most)
	}
	for _, l := range list {
		name := []rune(l.Name)
		if len(name) > 24 {
			name = append(name[:23], '…')
		}
		b.WriteString(Text(x.to+5, l.at+4.5, fmt.Sprintf("t%d", l.colour), "start", string(name)))
	}
}

// wrapped breaks a text into lines of at most so many letters. A word that is longer than a line is
// broken, behind a comma if there is one.
func wrapped(text string, letters int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		for _, part := range broken(word, letters) {
			switch whole := part == word; {
			case line == "":
				line = part
			case !whole || len([]rune(line))+1+len([]rune(part)) > letters:
				lines, line = append(lines, line), part
			default:
				line += " " + part
			}
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}

// broken breaks a word into parts of at most so many letters.
func broken(word string, letters int) (parts []string) {
	rest := []rune(word)
	for len(rest) > letters {
		end := letters
		for k := range letters {
			if rest[k] == ',' {
				end = k + 1
			}
		}
		parts, rest = append(parts, string(rest[:end])), rest[end:]
	}
	return append(parts, string(rest))
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }
