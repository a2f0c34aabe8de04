package knapsack

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFolderAndHost(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][2]string{
		"docs/api/index.html":                  {"docs/api", "docs"},
		"index.html":                           {"", "index.html"},
		"":                                     {"", ""},
		"/a":                                   {"", ""},
		"https://Example.com/a/b?c=d/e#f/g":    {"https://Example.com/a", "example.com"},
		"https://example.com/":                 {"https://example.com", "example.com"},
		"https://user:pass@Example.com:8080/a": {"https://user:pass@Example.com:8080", "example.com:8080"},
		"http://example.com?x/y":               {"http://example.com", "example.com"},
		"example.com/Terms of Service":         {"example.com", "example.com"},
		"/login?next=https://example.com/a":    {"", ""},
		"a.com/go/to?url=https://b.com/c":      {"a.com/go", "a.com"},
		"docs/C#/index.html":                   {"docs/C#", "docs"},
	} {
		require.Equal(t, want, [2]string{Folder(name), Host(name)}, name)
	}
}

// Pages of one name are in one group, of other names in others, and the limits of a group are those
// of its pages.
func TestGroups(t *testing.T) {
	t.Parallel()
	f := must(NewRateFilter(5, RateFilterConfig{}))
	groups := make(Groups)
	for page, name := range []string{"a/1", "b/1", "a/2", "c", "b/2"} {
		require.NoError(t, groups.Join(f, page, Folder(name)))
	}
	require.Equal(t, Groups{"a": 0, "b": 1, "": 2}, groups)
	require.ErrorIs(t, groups.Join(f, 9, "d"), ErrUnknown)
	require.Len(t, groups, 3, "a page that is unknown makes no group")
	require.NoError(t, f.LimitGroup(groups["a"], GroupConfig{MaxInFlight: 1}))
	flying := map[int]bool{}
	for range 4 {
		flying[must(f.Next(1))] = true
	}
	require.NotEqual(t, flying[0], flying[2], "one of both at a time")
	_, err := f.Next(1)
	require.ErrorIs(t, err, ErrNoPage)
}

// Where hosts come and go, Prune leaves the groups that have pages, in the filter as in the map, and gives
// out the ids of the others in the same order each time. A name of which the filter lost the group gets another.
func TestGroupsPrune(t *testing.T) {
	t.Parallel()
	var ids []Groups
	for range 5 {
		f := must(NewRateFilter(0, RateFilterConfig{}))
		groups := make(Groups)
		var pages []int
		for i := range 40 {
			page := f.Add()
			pages = append(pages, page)
			require.NoError(t, groups.Join(f, page, url(i)))
		}
		for i := range 40 {
			if i%4 != 0 {
				require.NoError(t, f.Remove(pages[i]))
			}
		}
		kept := groups[url(8)]
		groups.Prune(f)
		require.Len(t, groups, 10)
		require.Equal(t, kept, groups[url(8)])
		require.NoError(t, f.DeferGroup(kept, 5))
		require.NoError(t, f.RemoveGroup(groups[url(4)]))
		require.NoError(t, groups.Join(f, pages[4], url(4)))
		require.NoError(t, f.DeferGroup(groups[url(4)], 5))
		for i := range 20 {
			require.NoError(t, groups.Join(f, f.Add(), url(100+i)))
		}
		ids = append(ids, groups)
	}
	for _, groups := range ids {
		require.Equal(t, ids[0], groups)
	}
	f := must(NewRateFilter(0, RateFilterConfig{}))
	for i := range 200 {
		page := f.Add()
		groups := Groups{"gone": 77}
		require.NoError(t, groups.Join(f, page, url(i)))
		require.NoError(t, f.Remove(page))
		groups.Prune(f)
		require.Empty(t, groups)
	}
	require.Less(t, len(must(f.MarshalBinary())), 20000)
}
