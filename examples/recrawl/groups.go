package main

import (
	"fmt"

	"github.com/recrawl/recrawl/knapsack"
	"github.com/recrawl/recrawl/webenv"
)

// groupings are the ways of -groups of forming groups of pages from their names.
var groupings = map[string]func(name string) string{"folder": knapsack.Folder, "host": knapsack.Host}

// rateFilterGroups is the rate filter that knows which pages may change together. In a web
// without names it knows of none.
func rateFilterGroups(j job) (webenv.Scheduler, error) {
	filter, err := rateFilter(j)
	if err != nil {
		return nil, err
	}
	g := &grouped{filter.(*knapsack.RateFilter), make(knapsack.Groups), j}
	for page := range min(j.pages, len(j.names)) {
		if err := g.join(page, page, j.start); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// A grouped rate filter puts pages into groups by their names.
type grouped struct {
	*knapsack.RateFilter
	groups knapsack.Groups
	job    job
}

func (g *grouped) join(id, page int, _ float64) error {
	name := g.job.names[page]
	if err := g.groups.Join(g.RateFilter, id, groupings[g.job.groups](name)); err != nil {
		return fmt.Errorf("group of %s: %w", name, err)
	}
	return nil
}
