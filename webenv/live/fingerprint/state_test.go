package fingerprint

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/codec/codectest"
)

// The state of a page is bounded, whatever the copies are.
func TestBounded(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	require.EqualValues(t, 12, unsafe.Sizeof(entry{}))
	require.EqualValues(t, 8, unsafe.Sizeof(place{}))
	for every := 1; every < 9; every++ { // one block of so many has a new one behind it
		rng := rand.New(rand.NewPCG(1, 2))
		p := new(Page)
		full := false
		for k := range 12 {
			var b strings.Builder
			for i := range 2500 {
				fmt.Fprintf(&b, "<p>%d", i+k/6*100) // the places of the blocks that leave are still remembered
				if i%every == 0 {
					fmt.Fprintf(&b, "<p>%x", rng.Uint64())
				}
			}
			p.Observe(copyOf([]byte(b.String())))
			require.LessOrEqual(t, len(p.entries), maxEntries)
			require.LessOrEqual(t, len(p.places), maxPlaces)
			full = full || len(p.entries) == maxEntries && len(p.places) == maxPlaces
			size := int(unsafe.Sizeof(*p)) + 12*cap(p.entries) + 8*cap(p.places)
			require.Less(t, size, 58_000, "copy %d", k)
			for i := 1; i < len(p.entries); i++ {
				require.Less(t, p.entries[i-1].hash, p.entries[i].hash)
			}
			if k == 4 { // a loaded page has other capacities
				saved, err := p.MarshalBinary()
				require.NoError(t, err)
				require.NoError(t, p.UnmarshalBinary(saved))
			}
		}
		require.True(t, full || every > 1)
		saved, err := p.MarshalBinary()
		require.NoError(t, err)
		require.NoError(t, new(Page).UnmarshalBinary(saved))
		require.Less(t, len(saved), 57_000)
	}
}

// Whatever is observed: the same bytes are no change, a block never seen in a calm place is one,
// and a page saved and restored goes on alike.
func TestAnyPages(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := new(Page)
		for range rapid.IntRange(1, 30).Draw(t, "copies") {
			b := []byte(markup.Draw(t, "body"))
			if rapid.Bool().Draw(t, "same") {
				p.Same()
			}
			if rapid.Bool().Draw(t, "teach") {
				if p.Teach(copyOf(b)); p.sum != copyOf(b).sum() {
					continue // it is of another kind
				}
			} else {
				first := p.copies == 0
				require.Equal(t, first, p.Observe(copyOf(b)).First)
			}
			if p.copies > 0 && !rapid.Bool().Draw(t, "skip") {
				late := slices.ContainsFunc(p.entries, func(e entry) bool { return e.flags&masked != 0 && e.run+1 >= lateAfter })
				require.Equal(t, late, p.Observe(copyOf(b)).Changed())
			}
			saved, err := p.MarshalBinary()
			require.NoError(t, err)
			twin := new(Page)
			require.NoError(t, twin.UnmarshalBinary(saved))
			p = twin
		}
	})
}

// somePage has all there is to save.
func somePage() *Page {
	p := &Page{Numbers: true}
	for k := range 5 {
		observe(p, page("before", fmt.Sprint("id a", k), "after", fmt.Sprint("n ", k%2)))
	}
	return p
}

func usePage(p *Page) any {
	var found []Finding
	for k := range 20 {
		found = append(found, p.Observe(copyOf(page("before", fmt.Sprint("id b", k), "after", fmt.Sprint("n ", k/3)))))
		if k%5 == 0 {
			p.Teach(copyOf(page("before", fmt.Sprint("id c", k), "after")))
		}
	}
	return found
}

func TestSaved(t *testing.T) {
	t.Parallel()
	codectest.Run(t, "page", codectest.Of(somePage(), func() *Page { return &Page{} }, usePage))
	plain := new(Page)
	plain.Observe(copyOf([]byte("text")))
	codectest.Run(t, "plain", codectest.Of(plain, somePage, usePage))
	codectest.Run(t, "empty", codectest.Of(new(Page), somePage, usePage))
}

// States without kinds, of earlier versions, can be loaded; the next copy gives the kinds.
func TestStateWithoutKinds(t *testing.T) {
	t.Parallel()
	l, p := known(6, 6)
	now, err := p.MarshalBinary()
	require.NoError(t, err)
	for i := range p.entries {
		p.entries[i].kind = 0
	}
	old, err := p.MarshalBinary()
	require.NoError(t, err)
	require.Len(t, old, len(now)-len(p.entries))
	loaded := new(Page)
	require.NoError(t, loaded.UnmarshalBinary(old))
	require.Equal(t, p, loaded)
	for k := range 30 {
		if k == 5 {
			l.add("new")
		}
		require.Equal(t, k == 5, observe(loaded, l.page()).Changed(), "copy %d", k)
		l.view(len(l.views))
	}
}

// A page that is now in HTML and now in JSON continues as one that was saved and loaded at each copy.
func TestSavedBetweenLanguages(t *testing.T) {
	t.Parallel()
	l, p := known(6, 6)
	q := p.Clone()
	for k := range 20 {
		body := l.page()
		if k%4 == 2 {
			body = []byte(fmt.Sprintf(`{"at":%d}`, 1764482400+k))
		}
		l.view(5)
		require.Equal(t, observe(p, body), observe(q, body))
		saved, err := p.MarshalBinary()
		require.NoError(t, err)
		again, err := q.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, saved, again, "copy %d", k)
		q = new(Page)
		require.NoError(t, q.UnmarshalBinary(saved))
	}
}

// A page and its clone learn on their own.
func TestClone(t *testing.T) {
	t.Parallel()
	noisy := func(k int) *Copy { return copyOf(page("a", fmt.Sprint("time ", k), fmt.Sprint("story ", k/7), "b")) }
	p, again := new(Page), new(Page)
	for k := range 30 {
		before, err := p.MarshalBinary()
		require.NoError(t, err)
		c := p.Clone()
		c.Numbers = true
		c.Observe(noisy(k))
		c.Same()
		c.Teach(noisy(k + 100))
		after, err := p.MarshalBinary()
		require.NoError(t, err)
		require.Equal(t, before, after)
		require.Equal(t, again.Observe(noisy(k)), p.Clone().Observe(noisy(k)))
		p.Observe(noisy(k))
	}
}

func FuzzSaved(f *testing.F) {
	empty := func() *Page { return &Page{} }
	codectest.Fuzz(f, codectest.Of(somePage(), empty, usePage), codectest.Of(new(Page), empty, usePage))
}
