package main

import (
	"fmt"
	"os"
	"strconv"

	"github.com/recrawl/recrawl/examples/internal/report"
)

// A picture is a chart with a name for its file and what it shows.
type picture struct {
	name, source string
	chart        report.Chart
}

// draw writes every picture as SVG and all of them, with the table, as one HTML page.
func draw(dir string, pictures []picture, rows []report.Row) error {
	page := report.Page{
		Title: "Sites and access points",
		Lead: "The experiments of Chen, Wang and Olsen (2006) and of Chen & Wang (2006), and what their automaton " +
			"cannot do beside the assigner that can. Curves are means over the runs.",
	}
	for _, p := range pictures {
		svg, err := p.chart.SVG()
		if err != nil {
			return err
		}
		if _, err := report.WriteFile(dir, p.name+".svg", svg); err != nil {
			return err
		}
		page.Sections = append(page.Sections, report.Section{Title: p.chart.Title, Text: p.source, SVG: svg})
	}
	table := report.Section{Title: "All figures", Header: []string{"source", "item", "quantity", "published", "measured", "sd", "unit", "runs"}}
	for _, r := range rows {
		sd := "–"
		if r.SD != nil {
			sd = report.Format(*r.SD)
		}
		table.Rows = append(table.Rows, []string{r.Source, r.Item, r.Quantity, report.Format(r.Published), report.Format(r.Measured), sd, r.Unit, strconv.Itoa(r.Runs)})
	}
	page.Sections = append(page.Sections, table)
	html, err := page.HTML()
	if err != nil {
		return err
	}
	path, err := report.WriteFile(dir, "index.html", html)
	if err == nil {
		fmt.Fprintln(os.Stderr, "pictures:", path)
	}
	return err
}
