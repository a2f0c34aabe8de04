package knapsack

import (
	"maps"
	"slices"
	"strings"
)

// Groups maps names to the groups of a RateFilter: groups of pages that change together, as those
// of a folder or a template do, or that share a limit, as those of a host do. Make it with make,
// and put pages into their groups with Join, by the name that Folder or Host returns, or any other:
//
//	groups := make(knapsack.Groups)
//	err := groups.Join(filter, page, knapsack.Folder(url))
//
// The values are the ids that LimitGroup, DeferGroup and RemoveGroup take.
//
// Save the map together with the filter. If the filter is behind a Keyed, use the map only within
// With, and copy it there before the Keyed is saved, as the example does. Then every group of the
// copy is in the saved filter. If a group is added between the copy and the save, only the filter
// has it, and after a restart Join makes a second one of that name. A copy that is made after the
// save is wrong: it may have ids that the saved filter will give to other groups.
type Groups map[string]int

// Join puts a page into the group of a name. Where the filter has no such group, as before the first page and
// after RemoveGroup, it makes one without a limit.
func (g Groups) Join(f *RateFilter, page int, name string) error {
	group, ok := g[name]
	if _, err := f.group(group); !ok || err != nil {
		if _, err := f.slot(page); err != nil {
			return err
		}
		var err error
		if group, err = f.AddGroup(GroupConfig{}); err != nil {
			return err
		}
		g[name] = group
	}
	return f.SetGroup(page, group)
}

// Prune removes the groups that no page is in, from the filter too, with their limits: where hosts come and go,
// call it now and then. It takes O(groups·log(groups + n)).
func (g Groups) Prune(f *RateFilter) {
	for _, name := range slices.Sorted(maps.Keys(g)) { // lest later ids depend on the order of a map
		slot, err := f.group(g[name])
		if err == nil && f.limits.Pages(slot) > 0 {
			continue
		}
		if err == nil {
			_ = f.RemoveGroup(g[name]) // known
		}
		delete(g, name)
	}
}

// Folder returns what a URL has before the last slash of its path, scheme and host included; of any
// other name, all before the last slash that no question mark precedes, or nothing.
func Folder(url string) string {
	if scheme, rest, ok := cutScheme(url); ok {
		rest = rest[:end(rest, "?#")]
		return scheme + "://" + rest[:max(strings.LastIndexByte(rest, '/'), end(rest, "/"))]
	}
	return url[:max(strings.LastIndexByte(url[:end(url, "?")], '/'), 0)]
}

// Host returns the host of a URL in small letters, with its port if it has one; of any other name,
// what is before the first slash.
func Host(url string) string {
	if _, rest, ok := cutScheme(url); ok {
		url = rest
	}
	url = url[:end(url, "/?#")]
	return strings.ToLower(url[strings.LastIndexByte(url, '@')+1:])
}

// cutScheme splits a URL after its scheme. A URL that a name has in its query is not the name's own.
func cutScheme(url string) (scheme, rest string, ok bool) {
	scheme, rest, ok = strings.Cut(url, "://")
	return scheme, rest, ok && !strings.ContainsAny(scheme, "/?#")
}

// end returns the index of the first of some bytes, or the length of the text.
func end(text, of string) int {
	if k := strings.IndexAny(text, of); k >= 0 {
		return k
	}
	return len(text)
}
