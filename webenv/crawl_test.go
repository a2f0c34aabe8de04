package webenv

import (
	"errors"
	"iter"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/webenv/internal/check"
)

// fixed chooses the access points that it is told to, and keeps what it is told.
type fixed struct {
	arms     map[int]int
	told     map[int]float64
	next     error
	observed error
}

func (f *fixed) Next(site int) (int, error) { return f.arms[site], f.next }

func (f *fixed) Observe(site int, duration float64) error {
	f.told[site] = duration
	return f.observed
}

// travelled is a chooser that has removed and added sites.
type travelled struct {
	fixed
	ids []int
}

func (f *travelled) All() iter.Seq[int] { return slices.Values(f.ids) }

func TestCrawl(t *testing.T) {
	t.Parallel()
	d := newDurations(t, 3, func(c *DurationsConfig) { c.Sites, c.Arms, c.Every = 2, 3, 2 })
	first, other := d.Perfect(0), (d.Perfect(1)+1)%3
	f := &fixed{arms: map[int]int{0: first, 1: other}, told: map[int]float64{}}
	got, err := d.Crawl(f)
	require.NoError(t, err)
	require.Equal(t, Crawl{Sites: 2, Placed: 1, Duration: 24.7 + 53.6, Mean: 24.7 + 53.6, Perfect: 2 * 24.7}, got)
	require.Equal(t, map[int]float64{0: 24.7, 1: 53.6}, f.told)
	require.Equal(t, 1, d.crawl)

	// Ids that were given out again, and one access point that was.
	const again = 1 << 32
	g := &travelled{*f, []int{again, 1}}
	g.arms = map[int]int{again: again + first, 1: other}
	g.told = map[int]float64{}
	got, err = d.Crawl(g)
	require.NoError(t, err)
	require.Equal(t, 1, got.Placed)
	require.Equal(t, map[int]float64{again: 24.7, 1: 53.6}, g.told)
	g.ids = []int{1}
	got, err = d.Crawl(g)
	require.NoError(t, err)
	require.Equal(t, 1, got.Sites)
}

func TestCrawlErrors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for name, c := range map[string]struct {
		chooser travelled
		want    error
		message string
	}{
		"next":         {travelled{fixed{next: broken}, []int{1}}, broken, "webenv: crawl stopped at site 1: broken"},
		"observe":      {travelled{fixed{observed: broken}, []int{1}}, broken, "webenv: crawl stopped at site 1: broken"},
		"arm":          {travelled{fixed{arms: map[int]int{0: 3}}, []int{0}}, ErrUnknown, "access point 3 of 3"},
		"negative arm": {travelled{fixed{arms: map[int]int{0: -1}}, []int{0}}, ErrUnknown, "of 3"},
		"site":         {travelled{fixed{}, []int{2}}, ErrUnknown, "site 2 of 2"},
		"negative":     {travelled{fixed{}, []int{-1}}, ErrUnknown, "of 2"},
	} {
		d := newDurations(t, 3, func(c *DurationsConfig) { c.Sites, c.Arms = 2, 3 })
		c.chooser.told = map[int]float64{}
		_, err := d.Crawl(&c.chooser)
		require.ErrorIs(t, err, c.want, name)
		require.ErrorContains(t, err, c.message, name)
		require.Zero(t, d.crawl, name)
	}
}

// The zero settings are those of the papers: spread uniformly, a crawl takes about 40,000 units,
// and 22,000 from the perfect access points.
func TestDurationsDefaults(t *testing.T) {
	t.Parallel()
	d, err := NewDurations(DurationsConfig{}, check.Source(1))
	require.NoError(t, err)
	spread := 0.0
	for site := range d.Len() {
		spread += d.Mean(site, site%d.Arms())
	}
	require.InEpsilon(t, 40_000, spread, 0.02)
	best, _ := d.Optimum()
	require.InEpsilon(t, 22_000, best, 0.02)
}
