package queue

import (
	"math"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// Shelves change neither which page is polled nor at what index, also where lots with and without are
// merged.
func TestShelves(t *testing.T) {
	t.Parallel()
	for _, sizes := range [][]int{nil, {100, 400, 10}} {
		const n = 1500
		var polled [2][]float64
		for i, crowd := range []int{0, 12} {
			c := newCrawl(5, n, false, sizes...)
			c.q.crowd = crowd
			most := 0
			for k := range 6 * n {
				switch {
				case k == 3*n && crowd > 0:
					c.q.crowd = n // no more shelves from here on
				case k == 4*n && crowd > 0:
					c.q.crowd = crowd
				case k%500 == 0:
					sound(t, &c.q)
					pages, _ := shelved(&c.q)
					most = max(most, pages)
				}
				polled[i] = append(polled[i], c.poll(1))
			}
			require.Equal(t, crowd > 0, most > n/2, "%d on shelves at most", most)
			polled[i] = append(polled[i], c.last...)
		}
		require.Equal(t, polled[0], polled[1])
	}
}

// shelved returns how many pages are on shelves, and in how many trees.
func shelved(q *Queue) (pages, trees int) {
	for i := range uint32(q.lots.Len()) {
		for tree, k := range q.trees(q.lots.At(i)) {
			if k >= 0 {
				trees++
				q.walk(tree, func(uint32) { pages++ })
			}
		}
	}
	return pages, trees
}

// Where all pages have been polled at the level that there is now, most are on shelves, and few on one.
func TestShelvesAreSmall(t *testing.T) {
	t.Parallel()
	const n = 3000
	c := newCrawl(6, n, false)
	c.q.crowd = 20
	for range 4 * n {
		c.poll(1)
	}
	for p := range uint32(n) {
		if c.q.Waits(p) && !c.q.Hot(p) {
			c.q.Rekey(p, c.when(p, c.now, c.q.Level()), c.now, c)
		}
	}
	pages, trees := shelved(&c.q)
	t.Logf("%d pages on shelves, in %d trees", pages, trees)
	require.Greater(t, pages, n*3/4)
	require.Less(t, pages, 4*trees)
	for i := range uint32(c.q.lots.Len()) {
		l := c.q.lots.At(i)
		require.True(t, l.root == None || l.shelves > 0, "lot %d has no shelves", i)
	}
	bytes, all := c.q.Bytes(), len(c.q.shelves)
	c.q.shelves = nil
	require.Equal(t, all*int(unsafe.Sizeof(shelves{})), bytes-c.q.Bytes())
}

// In the beginning of a crawl pages are due within a small part of a cycle, and are on shelves all
// the same.
func TestShelvesFromTheBeginning(t *testing.T) {
	t.Parallel()
	const n, soon = 1000, 0.5 // a 2000th of a cycle
	q := New(n)
	q.crowd = 20
	q.Begin(n, 1, 1, 0, false)
	at := q.insertLot(0, 1, soon, 1)
	for p := range uint32(n) {
		q.Take(p)
		// After 1/8 to 256 times the time of the first one.
		q.insert(0, at, p, soon*math.Exp2(float64((p*7+3)%12)-3))
	}
	pages, trees := shelved(&q)
	require.Equal(t, n, pages)
	require.Equal(t, 12, trees)
	sound(t, &q)
}

// A queue that is loaded has shelves, too, and goes on as the one that was saved.
func TestShelvesLoaded(t *testing.T) {
	t.Parallel()
	const n = shelvedFrom*pagesPerShelves + 600
	var crawls [2]*crawl
	for i := range crawls {
		crawls[i] = newCrawl(8, n, false)
		crawls[i].q.crowd = 0
		for range 2 * n {
			crawls[i].poll(1)
		}
	}
	crawls[1].q = restored(t, &crawls[0].q)
	for _, c := range crawls {
		sound(t, &c.q)
		require.Len(t, c.q.shelves, n/pagesPerShelves)
		pages, _ := shelved(&c.q)
		require.Positive(t, pages)
	}
	for range n {
		require.Equal(t, crawls[0].poll(1), crawls[1].poll(1))
		require.Equal(t, crawls[0].last[0], crawls[1].last[0])
	}
	require.Equal(t, crawls[0].last, crawls[1].last)
	require.Equal(t, encoded(t, &crawls[0].q), encoded(t, &crawls[1].q))
}
