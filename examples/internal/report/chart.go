package report

import (
	"bytes"
	"cmp"
	"fmt"
	"html/template"
	"image/color"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// A Chart is a picture of curves.
type Chart struct {
	Title, X, Y string
	LogX, LogY  bool
	Series      []Series
}

// A Series is one curve. Points that are not finite are left out.
type Series struct {
	Name   string
	X, Y   []float64
	Dashed bool // for a bound or a reference
}

// colours can be told apart, and seen on white. After as many curves they come
// again, with dots in the line.
var colours = []color.Color{
	color.RGBA{R: 0x1f, G: 0x77, B: 0xb4, A: 255}, // blue
	color.RGBA{R: 0xff, G: 0x7f, B: 0x0e, A: 255}, // orange
	color.RGBA{R: 0x2c, G: 0xa0, B: 0x2c, A: 255}, // green
	color.RGBA{R: 0xd6, G: 0x27, B: 0x28, A: 255}, // red
	color.RGBA{R: 0x94, G: 0x67, B: 0xbd, A: 255}, // purple
	color.RGBA{R: 0x8c, G: 0x56, B: 0x4b, A: 255}, // brown
	color.RGBA{R: 0xe3, G: 0x77, B: 0xc2, A: 255}, // pink
	color.RGBA{R: 0x60, G: 0x60, B: 0x60, A: 255}, // grey
	color.RGBA{R: 0xb0, G: 0xae, B: 0x10, A: 255}, // olive
	color.RGBA{R: 0x17, G: 0xbe, B: 0xcf, A: 255}, // cyan
}

// style returns how the i-th curve is drawn.
func (s Series) style(i int) draw.LineStyle {
	style := draw.LineStyle{Color: colours[i%len(colours)], Width: vg.Points(1.4)}
	switch {
	case s.Dashed:
		style.Dashes = []vg.Length{vg.Points(5), vg.Points(3)}
	case i >= len(colours):
		style.Dashes = []vg.Length{vg.Points(7), vg.Points(2), vg.Points(1.5), vg.Points(2)}
	}
	return style
}

// SVG draws the chart, the legend to the right of the curves and in the order in
// which they end, from the top.
func (c Chart) SVG() ([]byte, error) {
	plot.DefaultFont.Variant = "Sans"
	p, legend := plot.New(), plot.NewLegend()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X, c.Y
	p.Title.Padding, p.Y.Label.Padding = vg.Points(6), vg.Points(4)
	legend.Top, legend.Left, legend.Padding = true, true, vg.Points(3)
	legend.TextStyle.Font.Size = vg.Points(10)
	p.X.Tick.Marker, p.Y.Tick.Marker = ticks{}, ticks{}
	if c.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	if c.LogY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	p.Add(plotter.NewGrid())

	type entry struct {
		name string
		line *plotter.Line
	}
	var entries []entry
	for i, s := range c.Series {
		if len(s.X) != len(s.Y) {
			return nil, fmt.Errorf("chart %q, series %q: %d x and %d y", c.Title, s.Name, len(s.X), len(s.Y))
		}
		var xy plotter.XYs
		for k := range s.X {
			if finite(s.X[k]) && finite(s.Y[k]) {
				xy = append(xy, plotter.XY{X: s.X[k], Y: s.Y[k]})
			}
		}
		if len(xy) == 0 {
			continue
		}
		line, err := plotter.NewLine(xy)
		if err != nil {
			return nil, fmt.Errorf("chart %q, series %q: %w", c.Title, s.Name, err)
		}
		line.LineStyle = s.style(i)
		p.Add(line)
		entries = append(entries, entry{s.Name, line})
	}
	end := func(e entry) float64 { return e.line.XYs[len(e.line.XYs)-1].Y }
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(end(b), end(a)) })
	for _, e := range entries {
		legend.Add(e.name, e.line)
	}

	size := legend.Rectangle(draw.Canvas{}).Size()
	width, height := 7*vg.Inch+size.X, max(4.5*vg.Inch, size.Y+vg.Points(40))
	canvas := vgsvg.New(width, height)
	whole := draw.New(canvas)
	const gap = 8
	p.Draw(draw.Crop(whole, 0, -size.X-3*gap, 0, 0))
	legend.Draw(draw.Crop(whole, width-size.X-2*gap, 0, 0, -vg.Points(24)))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// ticks labels round numbers, four to nine of them.
type ticks struct{}

// Ticks implements [plot.Ticker].
func (ticks) Ticks(low, high float64) (marks []plot.Tick) {
	step := math.Pow(10, math.Floor(math.Log10((high-low)/4)))
	switch n := (high - low) / step; {
	case n >= 20:
		step *= 5
	case n >= 10:
		step *= 2
	}
	// Adding 0 turns −0 into 0.
	for k := math.Ceil(low/step) + 0; k*step <= high; k++ {
		marks = append(marks, plot.Tick{Value: k * step, Label: strconv.FormatFloat(k*step, 'g', 6, 64)})
	}
	return marks
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// A Page is a self-contained HTML page: no scripts, nothing loaded from elsewhere.
type Page struct {
	Title    string
	Lead     string // a paragraph at the top: what was run
	Sections []Section
	Command  string // the command line that made it, in the last line
}

// A Section is a heading over a picture, a table, or both.
type Section struct {
	Title  string
	Text   string
	SVG    []byte
	Header []string
	Rows   [][]string
}

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"svg": func(b []byte) template.HTML {
		if i := bytes.Index(b, []byte("<svg")); i > 0 {
			b = b[i:] // an XML declaration has no place inside HTML
		}
		return template.HTML(b)
	},
	"numeric": numeric,
}).Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<title>{{.Title}}</title>
<style>
body{font:16px/1.5 system-ui,sans-serif;max-width:68rem;margin:2rem auto;padding:0 1rem;color:#1b1b1f;background:#fff}
table{border-collapse:collapse;margin:1rem 0}th,td{padding:.25rem .75rem;border-bottom:1px solid #ddd;text-align:left}
td.n{text-align:right;font-variant-numeric:tabular-nums}svg{max-width:100%;height:auto}
</style></head><body>
<h1>{{.Title}}</h1>{{with .Lead}}<p>{{.}}</p>{{end}}
{{range .Sections}}<section>{{with .Title}}<h2>{{.}}</h2>{{end}}{{with .Text}}<p>{{.}}</p>{{end}}
{{with .SVG}}{{svg .}}{{end}}
{{if .Rows}}<table><thead><tr>{{range .Header}}<th>{{.}}</th>{{end}}</tr></thead><tbody>
{{range .Rows}}<tr>{{range .}}<td{{if numeric .}} class="n"{{end}}>{{.}}</td>{{end}}</tr>
{{end}}</tbody></table>{{end}}</section>
{{end}}{{with .Command}}<footer><p>Made with <code>{{.}}</code></p></footer>{{end}}</body></html>
`))

// HTML renders the page.
func (p Page) HTML() ([]byte, error) {
	var b bytes.Buffer
	if err := page.Execute(&b, p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
