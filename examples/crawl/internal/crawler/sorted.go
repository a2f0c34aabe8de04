package crawler

import (
	"maps"
	"slices"

	"github.com/recrawl/recrawl/examples/crawl/internal/fleet"
)

// sorted returns the sites in the order of their names, and their pages likewise.
func sorted(hosts map[string]*fleet.Site) (sites []fleet.Site) {
	for _, name := range slices.Sorted(maps.Keys(hosts)) {
		slices.Sort(hosts[name].URLs)
		sites = append(sites, *hosts[name])
	}
	return sites
}
