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
	f := filter.(*knapsack.RateFilter)
	groups := make(knapsack.Groups)
	for page, name := range j.names {
		if err := groups.Join(f, page, groupings[j.groups](name)); err != nil {
			return nil, fmt.Errorf("group of %s: %w", name, err)
		}
	}
	return f, nil
}
