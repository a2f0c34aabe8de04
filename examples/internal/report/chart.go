package report

import (
	"bytes"
	"fmt"
	"html/template"
	"math"
	"os"
	"path/filepath"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
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

// SVG draws the chart.
func (c Chart) SVG() ([]byte, error) {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.Title, c.X, c.Y
	p.Legend.Top = true
	p.Legend.Left = true
	if c.LogX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	if c.LogY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	p.Add(plotter.NewGrid())
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
		line.Color, line.Width = plotutil.Color(i), vg.Points(1.3)
		if s.Dashed {
			line.Dashes = []vg.Length{vg.Points(4), vg.Points(3)}
		}
		p.Add(line)
		p.Legend.Add(s.Name, line)
	}
	canvas := vgsvg.New(8*vg.Inch, 4.5*vg.Inch)
	p.Draw(draw.New(canvas))
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// A Page is a self-contained HTML page: no scripts, nothing loaded from elsewhere.
type Page struct {
	Title    string
	Lead     string // a paragraph at the top: what was run
	Sections []Section
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
body{font:16px/1.5 system-ui,sans-serif;max-width:64rem;margin:2rem auto;padding:0 1rem;color:#1b1b1f;background:#fff}
table{border-collapse:collapse;margin:1rem 0}th,td{padding:.25rem .75rem;border-bottom:1px solid #ddd;text-align:left}
td.n{text-align:right;font-variant-numeric:tabular-nums}svg{max-width:100%;height:auto}
</style></head><body>
<h1>{{.Title}}</h1>{{with .Lead}}<p>{{.}}</p>{{end}}
{{range .Sections}}<section>{{with .Title}}<h2>{{.}}</h2>{{end}}{{with .Text}}<p>{{.}}</p>{{end}}
{{with .SVG}}{{svg .}}{{end}}
{{if .Rows}}<table><thead><tr>{{range .Header}}<th>{{.}}</th>{{end}}</tr></thead><tbody>
{{range .Rows}}<tr>{{range .}}<td{{if numeric .}} class="n"{{end}}>{{.}}</td>{{end}}</tr>
{{end}}</tbody></table>{{end}}</section>
{{end}}</body></html>
`))

// HTML renders the page.
func (p Page) HTML() ([]byte, error) {
	var b bytes.Buffer
	if err := page.Execute(&b, p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// WriteFile writes a file into folder dir, which it creates if need be, and
// returns its path.
func WriteFile(dir, name string, content []byte) (string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	return path, os.WriteFile(path, content, 0o644)
}
