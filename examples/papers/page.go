package main

import (
	"bytes"
	"fmt"
	"html/template"
	"strings"
)

// fileName makes a name fit for a file and for an anchor.
func fileName(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9', r == '.':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		default:
			return '-'
		}
	}, s)
}

// A sheet is what the page shows of a paper.
type sheet struct {
	ID, Name, Title, About, Tally string
	Figures                       []sheetFigure
}

type sheetFigure struct {
	ID, Place, Text string
	SVG             []template.HTML
	Rows            []Row
}

// draw writes every chart as a file, and the report with all of them.
func (l *lab) draw(results []result) error {
	var sheets []sheet
	for _, r := range results {
		s := sheet{r.id, r.name, r.title, r.about, tally(rowsOf([]result{r})), nil}
		for _, f := range r.figures {
			id := r.id + "-" + fileName(f.place)
			drawn := sheetFigure{ID: id, Place: f.place, Text: f.text, Rows: f.rows}
			for k, c := range f.charts {
				svg, err := l.WriteChart(fmt.Sprintf("%s-%c.svg", id, 'a'+k), c)
				if err != nil {
					return err
				}
				drawn.SVG = append(drawn.SVG, template.HTML(svg))
			}
			s.Figures = append(s.Figures, drawn)
		}
		sheets = append(sheets, s)
	}
	var b bytes.Buffer
	err := page.Execute(&b, struct {
		Sheets         []sheet
		Tally, Command string
	}{sheets, tally(rowsOf(results)), l.Command()})
	if err != nil {
		return err
	}
	return l.Write("papers.html", b.Bytes())
}

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"cells": Row.cells,
	"class": func(v Verdict) string { return fileName(string(v)) },
}).Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Five papers on crawling, repeated</title>
<style>
:root{--text:#1b1b1f;--back:#fff;--rule:#dcdce0;--soft:#55565c;--link:#0b62b8;
--reproduced:#1a7a2e;--differs:#b3261e;--fitted:#8a5a00;--not-stated:#55565c}
@media (prefers-color-scheme:dark){:root{--text:#e8e8ec;--back:#16181d;--rule:#33363d;--soft:#a9abb3;--link:#6cb2ff;
--reproduced:#63d17d;--differs:#ff8a80;--fitted:#ffc266;--not-stated:#a9abb3}}
body{font:16px/1.5 system-ui,sans-serif;max-width:76rem;margin:1.5rem auto;padding:0 1rem;color:var(--text);background:var(--back)}
h1,h2,h3{line-height:1.2}h2{margin-top:2.5rem;border-top:2px solid var(--rule);padding-top:1rem}h3{margin-top:2rem}
p{max-width:52rem}a{color:var(--link)}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,24rem),1fr));gap:1rem}
svg{display:block;width:100%;max-width:36rem;height:auto}
h3::first-letter{text-transform:uppercase}
table{border-collapse:collapse;width:100%;table-layout:fixed;font-size:.9rem;line-height:1.4}
th,td{padding:.3rem .5rem;border-bottom:1px solid var(--rule);text-align:left;vertical-align:top;overflow-wrap:break-word;box-sizing:border-box}
th:nth-child(1){width:20%}th:nth-child(2){width:13%}th:nth-child(3){width:9%}th:nth-child(4){width:11%}th:nth-child(5){width:5%}th:nth-child(6){width:9%}th:nth-child(8){width:12%}
td:nth-child(3),td:nth-child(4),td:nth-child(5){font-variant-numeric:tabular-nums}
td:nth-child(7){color:var(--soft)}
thead th{color:var(--soft);font-weight:600}
.v{font-weight:600}.reproduced{color:var(--reproduced)}.differs{color:var(--differs)}.fitted{color:var(--fitted)}.fitted--and-differs{color:var(--differs)}.not-stated{color:var(--not-stated)}
footer{color:var(--soft);overflow-wrap:anywhere;margin-top:3rem}
@media screen and (max-width:52rem){thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
table,tbody,tr,td{display:block;width:auto}tr{border-bottom:1px solid var(--rule);padding:.6rem 0}td{border:0;padding:.05rem 0}
td:empty{display:none}td[data-h]:before{content:attr(data-h)": ";color:var(--soft)}td:first-child{font-weight:600}}
@media print{body{max-width:none;margin:0;font-size:11px}table{font-size:8.5px}th,td{padding:.15rem .25rem}a{color:inherit;text-decoration:none}
section{break-inside:auto}tr,svg,h3{break-inside:avoid}h2,h3{break-after:avoid}.charts{grid-template-columns:1fr 1fr}svg{max-width:22rem}}
</style></head><body>
<h1>Five papers on crawling, repeated</h1>
<p>Every figure and table of five papers, what they publish beside what is measured here. {{.Tally}}.</p>
<p><b class="reproduced">Reproduced</b>: the published figure lies within two standard deviations of the runs here, or of the difference
of two means if it is a mean; an exact one within its last digit; a sentence holds in nine runs of ten. <b class="differs">Differs</b>: it does not, and the row says why.
<b class="fitted">Fitted</b>: a setting was chosen to match, so that agreement shows nothing. <b class="{{class "fitted, and differs"}}">Fitted, and
differs</b>: a setting was chosen to match and it does not, and the row says why. <b class="not-stated">Not stated</b>:
the paper gives no figure. ± is the standard deviation over the runs.</p>
<nav><ul>{{range .Sheets}}<li><a href="#{{.ID}}">{{.Name}}</a>: {{.Tally}}</li>{{end}}</ul></nav>
{{range .Sheets}}<h2 id="{{.ID}}">{{.Name}}</h2>
<p><i>{{.Title}}.</i></p>{{with .About}}<p>{{.}}</p>{{end}}
{{range .Figures}}<section id="{{.ID}}"><h3>{{.Place}}</h3>{{with .Text}}<p>{{.}}</p>{{end}}
{{with .SVG}}<div class="charts">{{range .}}<div>{{.}}</div>{{end}}</div>{{end}}
{{if .Rows}}<table><thead><tr><th scope="col">what</th><th scope="col">quantity</th><th scope="col">published</th><th scope="col">measured</th><th scope="col">runs</th><th scope="col">verdict</th><th scope="col">why</th><th scope="col">recommended instead</th></tr></thead><tbody>
{{range .Rows}}{{$c := cells .}}<tr><td>{{index $c 0}}</td><td>{{index $c 1}}</td><td data-h="published">{{index $c 2}}</td><td data-h="measured">{{index $c 3}}</td>{{with index $c 4}}<td data-h="runs">{{.}}</td>{{else}}<td></td>{{end}}<td class="v {{class .Verdict}}">{{.Verdict}}</td><td>{{.Why}}</td>{{with index $c 7}}<td data-h="recommended instead">{{.}}</td>{{else}}<td></td>{{end}}</tr>
{{end}}</tbody></table>{{end}}</section>
{{end}}{{end}}<footer><p>Made with <code>{{.Command}}</code></p></footer></body></html>
`))
