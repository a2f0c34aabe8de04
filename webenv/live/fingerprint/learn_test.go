package fingerprint

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// clock returns a page with a text that is replaced in place.
func clock(k any) []byte { return page("before", fmt.Sprint("time ", k), "after") }

// A place is noisy from the third new block; a masked block that stays is reported late.
func TestMaskAndUnmask(t *testing.T) {
	t.Parallel()
	p := new(Page)
	var found []bool
	for k := range 8 {
		found = append(found, observe(p, clock(k)).Body)
	}
	require.Equal(t, []bool{false, true, true, false, false, false, false, false}, found)
	require.Equal(t, body, observe(p, page("before", "time 7", "other")), "the rest of the page is watched")

	require.Equal(t, same, observe(p, page("before", "final", "other")), "in a noisy place")
	texts := []string{"before", "final", "other"}
	for k := range 5 {
		texts = append(texts, fmt.Sprint("n", k))
		observe(p, page(texts...))
		require.Equal(t, same, p.Same())
	}
	saved, err := p.MarshalBinary()
	require.NoError(t, err)
	for _, last := range []func(p *Page) Finding{
		(*Page).Same,
		func(p *Page) Finding { return observe(p, page(texts...)) },
		func(p *Page) Finding { return observe(p, []byte("<p class=x>"+string(page(texts...)))) },
	} {
		p = new(Page)
		require.NoError(t, p.UnmarshalBinary(saved))
		require.Equal(t, Finding{Body: true, Late: true}, last(p), "it is in the twelfth copy")
		for range 20 {
			require.Equal(t, same, last(p))
		}
	}
	texts[1] = "final two"
	require.Equal(t, body, observe(p, page(texts...)), "the place is no longer noisy")
}

// Blocks that come and go make no place, so all of a list of random links is in the same one.
func TestLinks(t *testing.T) {
	t.Parallel()
	p := new(Page)
	links := func(k ...int) []byte {
		texts := []string{"see also"}
		for _, k := range k {
			texts = append(texts, fmt.Sprint("link", k))
		}
		return page(append(texts, "end")...)
	}
	observe(p, links(1, 2, 3), links(4, 5, 6), links(7, 8, 9), links(10, 11, 12))
	for k := 13; k < 40; k++ {
		require.Equal(t, same, observe(p, links(k-1, k, k+100)), "the first was there before")
	}
	require.Equal(t, body, observe(p, links(39, 40, 41, 42)), "one more")

	p = new(Page)
	observe(p, links(1, 2, 3), links(4, 5, 6))
	p.Teach(copyOf(links(7)))
	require.Equal(t, same, observe(p, links(8, 9, 10)), "as many as there were before the second copy")
}

// Pages that are made anew by turns, with more blocks than noise has, give no hits.
func TestPagesByTurns(t *testing.T) {
	t.Parallel()
	p := new(Page)
	version := func(k int) (texts []string) {
		for i := range 10 {
			texts = append(texts, fmt.Sprint("text ", i, " of ", k))
		}
		return texts
	}
	for k := range 12 {
		observe(p, page(version(k%4)...))
	}
	edited := version(0)
	edited[9] = "other"
	require.Equal(t, body, observe(p, page(edited...)))
}

// Where a text comes and goes, a change of what is beside it is one more than there was.
func TestEditBesideNoise(t *testing.T) {
	t.Parallel()
	noisy := func(k int, texts ...string) []byte { // among other places of the kind
		all := []string{}
		for i := range 8 {
			all = append(all, fmt.Sprint("label", i), fmt.Sprint("clock", i, k))
		}
		return page(append(append(all, "top"), append(texts, "end")...)...)
	}
	for name, last := range map[string][]string{
		"edited, the advertisement stays":  {"ad4", "other"},
		"edited, and another one is back":  {"ad3", "other"},
		"edited, and a new one":            {"ad9", "other"},
		"removed, the advertisement stays": {"ad4"},
		"added before one that stays":      {"new", "ad4", "text"},
		"added behind one that came back":  {"ad3", "new", "text"},
		"added behind one back for once":   {"ad1", "new", "text"},
		"removed with the advertisement":   {},
		"two edited, and no advertisement": {"other", "another"},
	} {
		for _, clock := range []int{7, 8} { // the others stay, or not
			p := new(Page)
			for k := range 5 {
				observe(p, noisy(k, fmt.Sprint("ad", k), "text"))
			}
			require.Equal(t, same, observe(p, noisy(6, "ad2", "text")))
			require.Equal(t, same, observe(p, noisy(7, "ad4", "text")))
			require.Equal(t, body, observe(p, noisy(clock, last...)), name)
		}
	}
}

// A page that is back after an error page, all of it at once, is no noise beside its clocks.
func TestErrorPageBetween(t *testing.T) {
	t.Parallel()
	p := new(Page)
	texts := func(k int, edit string) []byte {
		all := []string{"top"}
		for i := range 20 {
			if i%6 == 3 {
				all = append(all, fmt.Sprint("clock ", i, " of ", k))
			}
			all = append(all, fmt.Sprint("text ", i))
		}
		all[12] += edit
		return page(append(all, "end")...)
	}
	for k := range 60 {
		failed := k == 20 || k == 40
		if failed {
			require.True(t, observe(p, page("overloaded", "come back later")).Body, "copy %d", k)
		}
		require.Equal(t, k == 1 || k == 2 || failed, observe(p, texts(k, "")).Body, "copy %d", k)
	}
	require.Equal(t, body, observe(p, texts(60, ", edited")))
}

// Where known advertisements follow each other behind a new text, its place is noisy.
func TestKnownNoiseInNewPlace(t *testing.T) {
	t.Parallel()
	p := new(Page)
	at := func(edit string, k int) []byte { return page("top", edit, fmt.Sprint("ad", k), "end") }
	for k := range 12 {
		observe(p, at("text", k%6))
	}
	require.Equal(t, body, observe(p, at("edited", 3)))
	for _, k := range []int{4, 5, 3} { // those that were masked
		require.Equal(t, same, observe(p, at("edited", k)))
	}
	require.Equal(t, same, observe(p, at("edited", 9)), "never seen")
	require.Equal(t, body, observe(p, page("top", "edited", "ad9", "other", "end")))
}

// Where advertisements move from place to place there is one at a time in each.
func TestEditBesideNoiseThatMoves(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	texts := func(ads []int, edited int) []byte {
		var all []string
		for i := range 5 {
			text := fmt.Sprint("text ", i)
			if i == edited {
				text = "other"
			}
			all = append(all, fmt.Sprint("label", i), fmt.Sprint("ad", ads[i]), text)
		}
		return page(all...)
	}
	p := new(Page)
	for k := range 100 {
		ads := rng.Perm(20)
		for i := range 5 {
			if k > 20 {
				require.Equal(t, body, observe(p.Clone(), texts(ads, i)), "copy %d, text %d", k, i)
			}
		}
		f := observe(p, texts(ads, -1))
		require.True(t, k < 20 || f == same, "copy %d", k)
	}
}

// Where a second copy differs all over, as the first was an error page, its blocks are no noise.
func TestTeachAnotherPage(t *testing.T) {
	t.Parallel()
	for _, blocks := range []int{20, 200} {
		texts := []string{}
		for i := range blocks {
			texts = append(texts, fmt.Sprint("text ", i))
		}
		p := new(Page)
		observe(p, page("please wait", "checking", "your browser"))
		p.Teach(copyOf(page(texts...)))
		require.Equal(t, same, observe(p, page(texts...)))
		texts[blocks/2] = "other"
		require.Equal(t, body, observe(p, page(texts...)))
		texts[0] = "other, too"
		require.Equal(t, same, observe(p, page(texts...)), "the place of the error page")
	}
}

// A random list of more than mostNoise texts is noise once a second copy has shown it: one of its texts
// that stays by chance does not end its place. A text beside it that is edited is a change.
func TestLongRandomList(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	draw := func(edited int) []byte {
		texts := []string{"related"}
		for _, i := range rng.Perm(100)[:mostNoise+4] {
			texts = append(texts, fmt.Sprint("link ", i))
		}
		for i := range 5 {
			if i == edited {
				i = 99
			}
			texts = append(texts, fmt.Sprint("text ", i))
		}
		return page(texts...)
	}
	p := new(Page)
	observe(p, draw(-1))
	for range 3 {
		p.Teach(copyOf(draw(-1)))
	}
	for k := range 100 {
		require.Equal(t, body, observe(p.Clone(), draw(k%5)), "copy %d", k)
		require.Equal(t, same, observe(p, draw(-1)), "copy %d; 62 of 100 are changes where texts that stay end the place", k)
	}
	var changes int // where each copy is there for two polls
	for range 100 {
		for _, f := range []Finding{observe(p, draw(-1)), p.Same()} {
			if f.Changed() {
				changes++
			}
		}
	}
	require.LessOrEqual(t, changes, 10, "30 where what stays for an answer 304 ends the place")
}

// Where a site has an error page with its own menu, what comes back after it is no noise, even if the second
// copy was of the error page: the first edit of each text is a change, but not that of the first, whose place
// is that of the error page.
func TestErrorPageWithMenu(t *testing.T) {
	t.Parallel()
	texts := func(edited int) (texts []string) {
		for i := range 30 {
			texts = append(texts, fmt.Sprint("menu ", i))
		}
		for i := range 20 {
			if i == edited {
				i = 99
			}
			texts = append(texts, fmt.Sprint("text ", i))
		}
		return texts
	}
	for _, late := range []bool{false, true} {
		p := new(Page)
		fault := append(texts(-1)[:30], "try again later")
		if late {
			observe(p, page(texts(-1)...))
		}
		observe(p, page(fault...))
		p.Teach(copyOf(page(texts(-1)...)))
		if late {
			p.Teach(copyOf(page(fault...)))
		}
		require.Equal(t, same, observe(p, page(texts(-1)...)))
		for i := 1; i < 20; i++ {
			require.Equal(t, body, observe(p.Clone(), page(texts(i)...)), "%v, text %d", late, i)
		}
	}
}

// A place that texts leave without others in their place is noisy if they are back from time to time.
// Events are not, so each is a change.
func TestPlaceThatTextsLeave(t *testing.T) {
	t.Parallel()
	texts := func(text string) []byte {
		var all []string
		for i := range 8 {
			all = append(all, fmt.Sprint("label", i))
			if text != "" {
				all = append(all, fmt.Sprint(text, " at ", i))
			}
		}
		return page(append(all, "end")...)
	}
	p := new(Page)
	observe(p, texts(""))
	for k := range 30 {
		require.Equal(t, k < 8, observe(p, texts(fmt.Sprint("ad", k%5))).Body, "the second to leave twice gives the first hit: %d", k)
		require.Equal(t, same, observe(p, texts("")), "in one copy only")
	}
	require.Equal(t, same, observe(p, texts("another")))
	for polls := 1; polls < 5; polls++ {
		p = new(Page)
		observe(p, texts(""))
		for k := range 30 {
			require.Equal(t, body, observe(p, texts(fmt.Sprint("event", k))), "event %d, in %d polls", k, polls)
			for range polls - 1 {
				require.Equal(t, same, p.Same())
			}
			require.Equal(t, polls >= goneAfter, observe(p, texts("")).Body)
		}
	}
}

// Eight random links at once are noise, also if one was there before. Nine are a page made anew.
func TestManyLinks(t *testing.T) {
	t.Parallel()
	for n, noise := range map[int]bool{8: true, 9: false} {
		p := new(Page)
		for k := range 30 {
			texts := []string{"see also"}
			for i := range n {
				if k%2 == 1 && k > 5 {
					i-- // the last one of before is the first one now
				}
				texts = append(texts, fmt.Sprint("link", n*k+i))
			}
			if f := observe(p, page(append(texts, "end")...)); k > 3 {
				require.Equal(t, noise, !f.Body, "%d: copy %d", n, k)
			}
		}
	}
}

// A late change whose twelfth copy is a second copy, which reports nothing, is reported at the next.
func TestLateAfterSecondCopy(t *testing.T) {
	t.Parallel()
	p := new(Page)
	copies := 0
	next := func(text string) []byte {
		copies++
		return page("before", fmt.Sprint("time ", copies), "middle", text, "after")
	}
	for k := range 8 {
		observe(p, next(fmt.Sprint("text ", k)))
	}
	for range lateAfter - 1 {
		require.Equal(t, same, observe(p, next("final")))
	}
	p.Teach(copyOf(next("final")))
	require.Equal(t, Finding{Body: true, Late: true}, observe(p, next("final")))
	require.Equal(t, same, observe(p, next("final")))
}

// What is masked in a copy that is reported for something else is not reported once more.
func TestNotLateTwice(t *testing.T) {
	t.Parallel()
	p := new(Page)
	for k := range 8 {
		observe(p, clock(k))
	}
	require.Equal(t, body, observe(p, page("new", "before", "time 8", "after")))
	for range 30 {
		require.Equal(t, same, p.Same())
	}
}

// What is masked in a copy that is reported for something else may come and go like what is masked in
// any other; once it has stayed its place is watched again.
func TestEditAmongNoise(t *testing.T) {
	t.Parallel()
	p := new(Page)
	at := func(k int, edit string) []byte { // texts move from one place to the next
		list := []string{edit, "rows"}
		for i := range 6 {
			list = append(list, fmt.Sprint("row ", i, "x"), fmt.Sprint(3*k+7*i, " minutes ago"))
		}
		return page(list...)
	}
	for k := range 150 {
		edit := fmt.Sprint("edit ", k/50)
		require.Equal(t, k == 1 || k == 2 || k == 50 || k == 100, observe(p, at(k, edit)).Body, "copy %d", k)
	}
	last := at(150, "edit 3")
	require.Equal(t, body, observe(p, last))
	for k := range 20 { // texts that are there again are reported late
		require.Equal(t, k == lateAfter-2, p.Same().Body, "poll %d", k)
	}
	require.Equal(t, body, observe(p, bytes.Replace(last, []byte("485 minutes"), []byte("some minutes"), 1)), "the place is no longer noisy")
}

// As many items as a copy can tell apart may have a counter each.
func TestManyCounters(t *testing.T) {
	t.Parallel()
	p := new(Page)
	rng := rand.New(rand.NewPCG(1, 2))
	list := func(edit string) []byte {
		texts := []string{edit}
		for i := range maxBlocks/2 - 10 {
			texts = append(texts, fmt.Sprint("item ", i), fmt.Sprint(rng.Uint64(), " likes"))
		}
		return page(texts...)
	}
	for k := range 10 {
		require.Equal(t, k == 1 || k == 2, observe(p, list("text")).Body, "copy %d", k)
	}
	require.Equal(t, body, observe(p, list("another text")))
}

// What was masked may come back without a word, also where its place is no longer noisy. The copies
// in which the page is the same are not copies of absence.
func TestNoiseReturns(t *testing.T) {
	t.Parallel()
	p := new(Page)
	for k := range 8 {
		observe(p, clock(k))
	}
	var late []int
	for k := range 40 {
		if p.Same().Body {
			late = append(late, k)
		}
	}
	require.Equal(t, []int{lateAfter - 2}, late)
	require.Empty(t, p.places)
	require.Equal(t, same, observe(p, page("before", "time 6", "time 7", "after")))
	require.Equal(t, body, observe(p, clock(9)))
}

// Hits are forgotten after 16 copies.
func TestHitsAge(t *testing.T) {
	t.Parallel()
	p := new(Page)
	observe(p, clock(1), clock(2), clock(3))
	require.Len(t, p.places, 1)
	for k := range 16 {
		observe(p, []byte(fmt.Sprintf("<p id=%d>", k)+string(clock(3))))
	}
	require.Empty(t, p.places)
}

// Lists that grow at the top, of limited length or not, are not noise.
func TestNews(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{5, 12, 1000} {
		p := new(Page)
		list := []string{"a", "b", "c", "d", "e"}
		for k := range 40 {
			list = append([]string{fmt.Sprint("news ", k)}, list...)
			list = list[:min(len(list), limit)]
			f := observe(p, page(append([]string{"headlines"}, list...)...))
			require.Equal(t, k > 0, f.Body, "%d of %d", k, limit)
		}
	}
}

// A page that is made anew at each poll, above mostNoise blocks, is not masked.
func TestAllNew(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]bool{mostNoise: false, mostNoise + 1: true} {
		p := new(Page)
		for k := range 10 {
			var list []string
			for i := range n {
				list = append(list, fmt.Sprint("news ", k, " ", i))
			}
			f := observe(p, page(append([]string{"headlines"}, list...)...))
			require.Equal(t, k == 1 || k == 2 || k > 0 && want, f.Body, "%d blocks, copy %d", n, k)
		}
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	p := &Page{Numbers: true}
	for k := range 20 {
		require.Equal(t, k > 0, observe(p, page("the price", fmt.Sprint(10+k%3, " EUR"))).Body, "copy %d", k)
	}
	for k := range 10 {
		observe(p, page("the price", fmt.Sprintf("id a%xb", 1000+k)))
	}
	require.Equal(t, same, observe(p, page("the price", "id a9b")), "this is no number")
	for _, price := range []string{"%d円", "%dkr", "%d kr", "%dzł", "€%d", "%d元", "%dkg", "USD%d", "%d°C", "1.%d", "%d,99", "v%d",
		"\xa3%d", "\x80%d", "%d\xa0kr", "£%d"} {
		p := &Page{Numbers: true}
		for k := range 20 {
			require.Equal(t, k > 0, observe(p, page("lamp", fmt.Sprintf(price, 100+7*k))).Body, "copy %d of %q", k, price)
		}
	}
}

// Two copies within seconds teach what two changes would.
func TestTeach(t *testing.T) {
	t.Parallel()
	p := new(Page)
	p.Teach(copyOf(clock(0)))
	require.Zero(t, p.copies, "there is nothing to compare with")
	f := p.Observe(copyOf(clock(1)))
	require.Equal(t, Finding{First: true, Again: true}, f)
	p.Teach(copyOf(clock(2)))
	for k := 3; k < 30; k++ {
		require.Equal(t, same, p.Observe(copyOf(clock(k))), "copy %d", k)
	}
	require.Equal(t, body, observe(p, page("before", "time 30", "new")))

	// A block that comes and goes.
	p = new(Page)
	p.Observe(copyOf(page("a", "b")))
	p.Teach(copyOf(page("a", "banner", "b")))
	for k := range 20 {
		list := []string{"a", "banner", "b", ""}
		if k%2 == 0 {
			list = []string{"a", "b", ""}
		}
		require.Equal(t, same, observe(p, page(list...)), "copy %d", k)
	}
	require.Equal(t, body, observe(p, page("a", "another", "b")), "the place is not noisy")
}

// What changes after a clock that stands still in some copies is learnt with it: the text of the clock is no block by
// which to tell the place.
func TestAfterSlowClock(t *testing.T) {
	t.Parallel()
	for _, stands := range []int{1, 2, 3, 4} {
		p := new(Page)
		reported := 0
		for k := range 100 {
			if observe(p, page("before", fmt.Sprint("hour ", k/stands), fmt.Sprint("visitor ", 1000+k), "after")).Changed() && k > 20 {
				reported++
			}
		}
		require.LessOrEqual(t, reported, 3, "%d", stands)
		require.Equal(t, body, observe(p, page("before", "hour 100", "visitor 1100", "other")))
	}
}

// Nor is it one where there is a second copy of each copy that differs.
func TestTeachBesideClock(t *testing.T) {
	t.Parallel()
	p := new(Page)
	tips := 0
	tip := func(clock int) *Copy {
		tips++
		return copyOf(page("before", fmt.Sprint("minute ", clock), fmt.Sprint("tip ", tips*tips%31), "after"))
	}
	reported := 0
	for k := range 60 {
		if p.Observe(tip(k)).Changed() {
			reported++
			p.Teach(tip(k))
		}
	}
	require.LessOrEqual(t, reported, 5)
}

// What is missing in the second copy may come back.
func TestTeachMissing(t *testing.T) {
	t.Parallel()
	p := new(Page)
	with, without := page("a", "banner", "b"), page("a", "b")
	observe(p, with)
	p.Teach(copyOf(without))
	require.Equal(t, same, observe(p, with, without, with))
	p = new(Page)
	observe(p, with)
	p.Teach(copyOf(without))
	require.Equal(t, same, observe(p, with))
}

// A clock right behind a text that was edited is in a new place, which must be learnt again.
func TestNoiseBehindEdit(t *testing.T) {
	t.Parallel()
	p := new(Page)
	var found []int
	for k := range 60 {
		if observe(p, page("before", fmt.Sprint("text", strings.Repeat("x", k/20)), fmt.Sprint("time ", k), "after")).Changed() {
			found = append(found, k)
		}
	}
	require.Equal(t, []int{1, 2, 20, 21, 22, 23, 40, 41, 42, 43}, found)
}
