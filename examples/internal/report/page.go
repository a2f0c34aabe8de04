package report

import (
	"bytes"
	"html/template"
	"strings"
)

// A Page is a self-contained HTML page, in light and dark: no scripts, nothing loaded from
// elsewhere.
type Page struct {
	Title    string
	Lead     string // a paragraph at the top: what was run
	Sections []Section
	Command  string // the command line that made it, in the last line
}

// A Section is a heading over a picture, a table, or both. Leave the title empty where the
// picture has it.
type Section struct {
	Title  string
	Text   string // below the heading: what the columns mean; see prose
	SVG    []byte
	Header []string
	Rows   [][]string
}

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"svg":     func(b []byte) template.HTML { return template.HTML(b) },
	"numeric": numeric,
	"prose":   prose,
}).Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{{.Title}}</title>
<style>
:root{--text:#1b1b1f;--back:#fff;--rule:#dcdce0;--soft:#55565c}
@media (prefers-color-scheme:dark){:root{--text:#e8e8ec;--back:#16181d;--rule:#33363d;--soft:#a9abb3}}
body{font:16px/1.5 system-ui,sans-serif;max-width:72rem;margin:1.5rem auto;padding:0 1rem;color:var(--text);background:var(--back)}
h1{line-height:1.2}main{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:1.5rem}
section{min-width:0}.wide{grid-column:1/-1}
svg{display:block;width:100%;max-width:40rem;height:auto}
.scroll{overflow-x:auto}table{border-collapse:collapse;min-width:38rem}
th,td{padding:.25rem .6rem;border-bottom:1px solid var(--rule);text-align:left;vertical-align:top}
th{position:sticky;top:0;background:var(--back)}td.n,th.n{text-align:right}td.n{font-variant-numeric:tabular-nums;white-space:nowrap}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1rem}dt{font-weight:600}dd{margin:0}
footer{color:var(--soft);overflow-wrap:anywhere}
</style></head><body>
<h1>{{.Title}}</h1>{{with .Lead}}<p>{{.}}</p>{{end}}
<main>
{{range .Sections}}<section{{if .Rows}} class="wide"{{end}}>{{with .Title}}<h2>{{.}}</h2>{{end}}{{range prose .Text}}{{with .Items}}<dl>{{range .}}<dt>{{index . 0}}</dt><dd>{{index . 1}}</dd>{{end}}</dl>{{else}}<p>{{.Text}}</p>{{end}}{{end}}
{{with .SVG}}{{svg .}}{{end}}
{{if .Rows}}<div class="scroll" tabindex="0" role="region" aria-label="Table{{with .Title}}: {{.}}{{end}}"><table><thead><tr>{{range .Header}}<th scope="col">{{.}}</th>{{end}}</tr></thead><tbody>
{{range .Rows}}<tr>{{range .}}<td{{if numeric .}} class="n"{{end}}>{{.}}</td>{{end}}</tr>
{{end}}</tbody></table></div>{{end}}</section>
{{end}}</main>
{{with .Command}}<footer><p>Made with <code>{{.}}</code></p></footer>{{end}}</body></html>
`))

// A block is a paragraph of a text, or a list of names and what they mean.
type block struct {
	Text  string
	Items [][2]string
}

// prose parts a text at its blank lines. A part whose lines are indented by two blanks is a list of
// names, each with what it means behind two blanks or more, and below it with more blanks before.
func prose(text string) (blocks []block) {
	for part := range strings.SplitSeq(strings.Trim(text, "\n"), "\n\n") {
		if part == "" {
			continue
		}
		b := block{Text: part}
		for line := range strings.SplitSeq(part, "\n") {
			name, meaning, _ := strings.Cut(strings.TrimPrefix(line, "  "), "  ")
			switch {
			case !strings.HasPrefix(line, "  "):
			case name != "":
				b.Items = append(b.Items, [2]string{name, strings.TrimSpace(meaning)})
			case len(b.Items) > 0:
				b.Items[len(b.Items)-1][1] += " " + strings.TrimSpace(line)
			}
		}
		blocks = append(blocks, b)
	}
	return blocks
}

// HTML renders the page.
func (p Page) HTML() ([]byte, error) {
	var b bytes.Buffer
	if err := page.Execute(&b, p); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
