package main

import "github.com/recrawl/recrawl/examples/internal/report"

// A picture is a chart with a name for its file and what it shows.
type picture struct {
	name, source string
	chart        report.Chart
}

// draw writes every picture as SVG and all of them, with the table, as one HTML page.
func draw(p *report.Program, pictures []picture) error {
	page := report.Page{
		Title: "Sites and access points",
		Lead:  "What the automaton of Chen, Wang and Olsen (2006) cannot do beside the assigner that can. Curves are means over the runs.",
	}
	for _, pic := range pictures {
		svg, err := p.WriteChart(pic.name+".svg", pic.chart)
		if err != nil {
			return err
		}
		page.Sections = append(page.Sections, report.Section{Text: pic.source, SVG: svg})
	}
	page.Sections = append(page.Sections, report.RowsSection("All figures", p.Rows()))
	return p.WritePage("partition.html", page)
}
