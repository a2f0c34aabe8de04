package knapsack

import "strings"

// Groups are the groups of a RateFilter by name: of pages that change together, as those of a
// folder or a template do, or that share a limit, as those of a host do. Make one with make and put
// pages into their groups with Join, by the names that Folder or Host give, or others:
//
//	groups := make(knapsack.Groups)
//	err := groups.Join(filter, page, knapsack.Folder(url))
//
// It is a map from a name to the id that LimitGroup, DeferGroup and RemoveGroup take, and is saved
// as one, beside the filter.
type Groups map[string]int

// Join puts a page into the group of a name, without a limit if it is the first one there.
func (g Groups) Join(f *RateFilter, page int, name string) error {
	group, ok := g[name]
	if !ok {
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

// Folder returns what a URL has before the last slash of its path, scheme and host included; of any
// other name, all before the last slash, or nothing.
func Folder(url string) string {
	if scheme, rest, ok := strings.Cut(url, "://"); ok {
		rest = rest[:end(rest, "?#")]
		return scheme + "://" + rest[:max(strings.LastIndexByte(rest, '/'), end(rest, "/"))]
	}
	return url[:max(strings.LastIndexByte(url, '/'), 0)]
}

// Host returns the host of a URL in small letters, with its port if it has one; of any other name,
// what is before the first slash.
func Host(url string) string {
	if _, rest, ok := strings.Cut(url, "://"); ok {
		url = rest
	}
	url = url[:end(url, "/?#")]
	return strings.ToLower(url[strings.LastIndexByte(url, '@')+1:])
}

// end returns the index of the first of some bytes, or the length of the text.
func end(text, of string) int {
	if k := strings.IndexAny(text, of); k >= 0 {
		return k
	}
	return len(text)
}
