package fingerprint

import (
	"bytes"
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

// page is a page of the given paragraphs, with a menu.
func page(paragraphs ...string) []byte {
	return []byte("<head><title>t</title></head><nav>home</nav><p>" + strings.Join(paragraphs, "</p>\n<p>") + "</p><footer>end</footer>")
}

var (
	same  = Finding{}
	body  = Finding{Body: true}
	minor = Finding{Minor: true}
)

// observe gives copies to a page and returns the last finding, without its advice.
func observe(p *Page, copies ...[]byte) Finding {
	var f Finding
	for _, c := range copies {
		f = p.Observe(copyOf(c))
		f.Again = false
	}
	return f
}

func TestFindingChanged(t *testing.T) {
	t.Parallel()
	for f, want := range map[Finding]bool{{}: false, {First: true, Again: true}: false, {Body: true}: true, {Minor: true}: true} {
		require.Equal(t, want, f.Changed())
	}
}

func TestRealChanges(t *testing.T) {
	t.Parallel()
	p := new(Page)
	require.Equal(t, Finding{First: true}, observe(p, page("one", "two", "three")))
	require.Equal(t, same, observe(p, page("one", "two", "three")))
	require.Equal(t, body, observe(p, page("one", "two", "four")), "rewritten")
	require.Equal(t, body, observe(p, page("one", "new", "two", "four")), "added")
	require.Equal(t, same, observe(p, page("two", "one", "new", "four")), "order does not count")
	require.Equal(t, same, observe(p, page("one", "two", "four")), "removed: a new one is not missed after two copies alone")
	require.Equal(t, same, observe(p, []byte(strings.ReplaceAll(string(page("One", "tw&#111;", "four!")), "<p>", "<p id=x>"))), "markup")
	require.Equal(t, minor, observe(p, []byte(strings.ReplaceAll(string(page("one", "two", "four")), "home", "start"))))
	require.Equal(t, Finding{Body: true, Minor: true}, observe(p, page("one", "two", "five")))
}

// A block is missed after three copies, those with the same bytes among them.
func TestRemoval(t *testing.T) {
	t.Parallel()
	for copies := 1; copies <= 6; copies++ {
		for distinct := 1; distinct <= copies; distinct++ {
			p := new(Page)
			stay(p, 3, page("a", "b", "c", "d"))
			for k := range copies {
				observe(p, page("a", "b", "c", "d", "x", fmt.Sprint("n", k%distinct)))
			}
			require.Equal(t, copies >= 3, observe(p, page("a", "b", "c", "d")).Body, "x, in %d copies", copies)
		}
	}
}

// On a page without noise a price that stays for five copies or more is never masked, whether the
// copies have the same bytes, others, or are not sent.
func TestPrice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := new(Page)
		copies := 0
		for price := range 30 {
			for poll := range rapid.IntRange(5, 30).Draw(t, "polls") {
				copies++
				var f Finding
				switch kind := rapid.IntRange(0, 2).Draw(t, "kind"); {
				case kind == 0 && poll > 0:
					f = p.Same()
				case kind == 1:
					f = observe(p, page("lamp", fmt.Sprint(price, " EUR"), "end", fmt.Sprintf("<img src=%d>", copies)))
				default:
					f = observe(p, page("lamp", fmt.Sprint(price, " EUR"), "end"))
				}
				require.Equal(t, price > 0 && poll == 0, f.Body, "price %d, poll %d", price, poll)
				require.False(t, f.Minor)
			}
		}
	})
}

// Nor is one that another price had just become equal to.
func TestEqualPrices(t *testing.T) {
	t.Parallel()
	for _, above := range []bool{false, true} {
		p := new(Page)
		for k := range 200 {
			list := []string{"lamp", fmt.Sprint(k/6, " EUR"), "chair", fmt.Sprint((k+2)/6-1, " EUR"), "end"}
			if above {
				list[1], list[3] = list[3], list[1]
			}
			f := observe(p, page(list...))
			require.Equal(t, k > 0 && (k%6 == 0 || k%6 == 4), f.Body, "copy %d, %v: a new price, and the other takes it", k, above)
		}
	}
}

// So are the headlines of a changelog that grows below the date of its latest change.
func TestChangelog(t *testing.T) {
	t.Parallel()
	for polls := 1; polls <= 6; polls++ {
		p := new(Page)
		var list []string
		for day := range 40 {
			list = append([]string{fmt.Sprint("version ", day), fmt.Sprint("fixed bug ", 1000+day)}, list...)
			for poll := range polls {
				f := observe(p, page(append([]string{"changelog", fmt.Sprint("updated on day ", day)}, list...)...))
				require.Equal(t, day > 0 && poll == 0, f.Body, "day %d, polled %d times a day", day, polls)
			}
		}
	}
}

// A state that comes back each time is a change each time, if it stays for twelve copies.
func TestStates(t *testing.T) {
	t.Parallel()
	for _, polls := range []int{12, 13, 20} {
		p := new(Page)
		for k := range 20 {
			for poll := range polls {
				f := observe(p, page("lamp", []string{"in stock", "out of stock", "on order"}[k%3], "end"))
				require.Equal(t, k > 0 && poll == 0, f.Body, "state %d, poll %d of %d", k, poll, polls)
			}
		}
	}
}

// Texts that are on the page more than once count as often as they are there.
func TestAlike(t *testing.T) {
	t.Parallel()
	for _, c := range [][2][]string{
		{{"lamp", "in stock", "chair", "out of stock", "desk", "in stock"}, {"lamp", "out of stock", "chair", "out of stock", "desk", "in stock"}},
		{{"lamp", "5 EUR", "chair", "7 EUR", "desk", "5 EUR"}, {"lamp", "7 EUR", "chair", "7 EUR", "desk", "5 EUR"}},
		{{"x", "y", "x", "z"}, {"x", "y", "z"}},
		{{"1.5 %"}, {"15 %"}}, {{"1/12/2026"}, {"11/2/2026"}}, {{"1 : 10"}, {"11 : 0"}}, {{"-500 EUR"}, {"500 EUR"}}, {{"–5 °C"}, {"5 °C"}}, {{"-$5"}, {"$5"}}, {{"−5"}, {"5"}}, {{"− 5"}, {"5"}},
		{{"$5"}, {"€5"}}, {{"a", "✓"}, {"a", "✗"}}, {{"🟢"}, {"🔴"}}, {{"C++"}, {"C"}},
	} {
		p := new(Page)
		stay(p, 10, page(c[0]...))
		require.Equal(t, body, observe(p, page(c[1]...)), "%q", c)
	}
	var h alike
	for k := range mostBlocks {
		require.Zero(t, h.count(uint32(k+1)*uint32(len(h.hash))), "all in one place")
	}
	require.Equal(t, 1, h.count(uint32(len(h.hash))))
}

// alikes returns n paragraphs with the same text.
func alikes(text string, n int) []string { return slices.Repeat([]string{text}, n) }

// One cell of a table is seen to change, however many cells there are with its text.
func TestManyAlike(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{30, 32, 33, 34, 35, 100, 300} {
		for _, text := range [][2]string{{"In stock", "Sold out"}, {"$10", "$12"}} {
			table := func(first string) []byte {
				list := []string{"item 0", first}
				for i := 1; i < rows; i++ {
					list = append(list, fmt.Sprint("item ", i), text[i%2])
				}
				return page(list...)
			}
			for _, numbers := range []bool{false, true} {
				p := &Page{Numbers: numbers}
				for k := range 8 {
					stay(p, lateAfter, table(text[k%2]))
					require.Equal(t, body, observe(p, table(text[1-k%2])), "%q of %d, change %d", text, rows, k)
				}
			}
		}
	}
	for _, c := range [][2]int{{15, 16}, {16, 17}, {17, 18}, {18, 17}, {17, 16}, {16, 15}, {20, 10}, {10, 20}, {300, 299}} {
		p := new(Page)
		stay(p, 3, page(alikes("x", c[0])...))
		require.Equal(t, body, observe(p, page(alikes("x", c[1])...)), "%d", c)
		require.Equal(t, same, observe(p, page(append(alikes("x", c[1]), "")...)))
		returns := c[0] > mostAlike || c[0] > c[1] // else one is gone that was in two copies
		require.Equal(t, returns, observe(p, page(alikes("x", c[0])...)).Body, "%d", c)
	}
	nav := func(n, inBody int) []byte {
		return []byte("<nav>" + strings.Repeat("<p>x", n) + "</nav><p>a<p>b" + strings.Repeat("<p>x", inBody))
	}
	for _, c := range []struct {
		before, after [2]int // in the menu and in the body
		want          Finding
	}{{[2]int{20, 20}, [2]int{20, 19}, body}, {[2]int{40, 0}, [2]int{39, 0}, minor}} {
		p := new(Page)
		stay(p, 2, nav(c.before[0], c.before[1]))
		require.Equal(t, c.want, observe(p, nav(c.after[0], c.after[1])))
	}
}

// A number of blocks with the same text that is another at each poll is noise, and hides nothing else.
func TestManyAlikeNoise(t *testing.T) {
	t.Parallel()
	for _, numbers := range []bool{false, true} {
		for _, text := range []string{"ad", "ad 5"} {
			p := &Page{Numbers: numbers}
			for k := range 40 {
				loud := numbers && text == "ad 5"
				require.Equal(t, k == 1 || k == 2 || k > 0 && loud, observe(p, page(alikes(text, 17+k%25)...)).Body, "copy %d", k)
			}
			require.Equal(t, body, observe(p, page(append([]string{text, "x"}, alikes(text, 20)...)...)), "behind the first of them")
		}
	}
	p := new(Page)
	for k := range 40 { // what comes and goes is one list
		n := 10
		if k%2 == 1 {
			n = 20 + k
		}
		require.Equal(t, k == 1 || k == 3, observe(p, page(alikes("ad", n)...)).Body, "copy %d", k)
	}
	p = new(Page)
	observe(p, page(alikes("ad", 50)...))
	p.Teach(copyOf(page(alikes("ad", 48)...)))
	for k := range 30 {
		require.Equal(t, same, observe(p, page(alikes("ad", 51+k)...)), "a second copy has taught it")
	}
}

// A table whose rows have the same labels has a place for each row.
func TestLabels(t *testing.T) {
	t.Parallel()
	for _, rows := range []int{8, 9, 20, 40} {
		for _, named := range []bool{false, true} {
			p := new(Page)
			for k := range 20 {
				var list []string
				for i := range rows {
					if named {
						list = append(list, fmt.Sprint("product ", i))
					}
					list = append(list, "views", fmt.Sprint(1000*k+i))
				}
				require.Equal(t, k == 1 || k == 2, observe(p, page(list...)).Body, "copy %d of %d rows", k, rows)
			}
		}
	}
}

// A second copy teaches noise of any size, for good.
func TestTeachMany(t *testing.T) {
	t.Parallel()
	for _, n := range []int{8, 9, 20, 300} {
		related := func(k int) []byte {
			list := []string{"article", "text", "related"}
			for i := range n {
				list = append(list, fmt.Sprint("story ", k*n+i))
			}
			return page(list...)
		}
		p := new(Page)
		observe(p, related(0))
		p.Teach(copyOf(related(1)))
		for k := range 50 {
			require.Equal(t, same, observe(p, related(k+2)), "copy %d of %d", k, n)
		}
	}
}

// An empty copy is a change, so is the one after it, and neither costs anything that was learnt.
func TestEmpty(t *testing.T) {
	t.Parallel()
	p := new(Page)
	for k := range 30 {
		if k == 15 {
			p.Teach(copyOf(nil))
			require.Equal(t, body, observe(p, nil))
			require.Equal(t, same, observe(p, nil))
			for range 20 {
				require.Equal(t, same, p.Same())
			}
			p.Teach(copyOf(clock(k))) // which the caller does not keep
		}
		require.Equal(t, k == 1 || k == 2 || k == 15, observe(p, clock(k)).Body, "copy %d", k)
	}
	observe(p, nil)
	saved, err := p.MarshalBinary()
	require.NoError(t, err)
	p = new(Page)
	require.NoError(t, p.UnmarshalBinary(saved))
	require.Equal(t, body, observe(p, clock(29)), "what was there before the empty copy")
}

// An error page in plain text leaves what was learnt. A second one that differs does not, because
// the page may have become something else.
func TestErrorInPlainText(t *testing.T) {
	t.Parallel()
	p := new(Page)
	for k := range 30 {
		if k == 15 || k == 20 {
			require.Equal(t, body, observe(p, []byte("overloaded")))
			require.Equal(t, same, observe(p, []byte("overloaded")))
			require.Equal(t, same, p.Same())
			p.Teach(copyOf(clock(k))) // which the caller does not keep
			saved, err := p.MarshalBinary()
			require.NoError(t, err)
			p = new(Page)
			require.NoError(t, p.UnmarshalBinary(saved))
		}
		require.Equal(t, k == 1 || k == 2 || k == 15 || k == 20, observe(p, clock(k)).Body, "copy %d", k)
	}
	require.Equal(t, body, observe(p, []byte("overloaded"), page("before", "another text", "after")))
	require.Equal(t, body, observe(p, []byte("overloaded")))
	require.Equal(t, body, observe(p, []byte("still overloaded")))
	require.Empty(t, p.entries)
	require.True(t, p.plain)
}

// The first return to an earlier text is a change, the second is none.
func TestReverts(t *testing.T) {
	t.Parallel()
	p := new(Page)
	a, b := page("a", "one"), page("a", "two")
	observe(p, a, page("a", "one", "x"), page("a", "one", "y"), page("a", "one", "x"))
	found := []bool{}
	for range 4 {
		found = append(found, observe(p, b).Body, observe(p, a).Body)
	}
	require.Equal(t, []bool{true, true, true, false, false, false, false, false}, found)
}

// stay gives a page n copies with the same text and other bytes.
func stay(p *Page, n int, copy []byte) {
	for k := range n {
		observe(p, fmt.Appendf(nil, "<p id=%d>%s", k, copy))
	}
}

// A block that came back before may go for good without a word, unless it has stayed for twelve
// copies.
func TestReturnedGoes(t *testing.T) {
	t.Parallel()
	p := new(Page)
	with, without := page("a", "b", "flap"), page("a", "b")
	stay(p, 4, with)
	require.Equal(t, body, observe(p, without))
	require.Equal(t, body, observe(p, with))
	stay(p, 10, with)
	require.Equal(t, same, observe(p, without))
	observe(p, with)
	stay(p, 11, with)
	require.Equal(t, body, observe(p, without))
}

// What is replaced after five copies is no noise, after four it is.
func TestSlowReplacement(t *testing.T) {
	t.Parallel()
	for run := 4; run <= 5; run++ {
		p := new(Page)
		stay(p, run, clock(0))
		for k := 1; k <= 6; k++ {
			require.Equal(t, k <= 2 || run > 4, observe(p, clock(k)).Body, "text %d of %d copies each", k, run)
			stay(p, run-1, clock(k))
		}
	}
}

// A place is as wide as it was at most.
func TestWidth(t *testing.T) {
	t.Parallel()
	p := new(Page)
	for k := range 12 {
		list := []string{"before", fmt.Sprint("x", k), fmt.Sprint("y", k), "after"}
		if k%4 == 3 {
			list = append(list[:2], "after")
		}
		require.Equal(t, k == 1 || k == 2, observe(p, page(list...)).Body, "copy %d", k)
	}
}

// The first block with a text is another than the second, which may be boilerplate if that is not.
func TestTwice(t *testing.T) {
	t.Parallel()
	p := new(Page)
	in := func(nav, text string) []byte {
		return []byte("<nav>home</nav><nav>" + nav + "</nav><p>a</p><p>" + text + "</p>")
	}
	observe(p, in("", ""))
	require.Equal(t, Finding{Body: true, Minor: true}, observe(p, in("x", "x")))
	stay(p, 4, in("x", "x"))
	require.Equal(t, body, observe(p, in("x", "")))
	stay(p, 4, in("x", ""))
	require.Equal(t, minor, observe(p, in("", "")))
}

// After 16 copies of absence a block is new again.
func TestForgotten(t *testing.T) {
	t.Parallel()
	for absent := 14; absent <= 18; absent++ {
		p := new(Page)
		observe(p, page("a"), page("a", "flap"), page("a"), page("a", "flap"))
		require.Len(t, p.entries, 5)
		var texts []string
		for k := range absent {
			texts = append(texts, fmt.Sprint("p", k))
			observe(p, page(append([]string{"a"}, texts...)...))
		}
		require.Equal(t, absent >= forgetAfter, observe(p, page(append([]string{"a", "flap"}, texts...)...)).Body, "%d", absent)
	}
}

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

// The changes after which a second copy is asked for come at one poll after the other.
func TestAgainInARow(t *testing.T) {
	t.Parallel()
	p := new(Page)
	var list []string
	for k := range 20 {
		list = append(list, fmt.Sprint("news ", k))
		require.Equal(t, k == 0, p.Observe(copyOf(page(list...))).Again)
		if k%2 == 0 {
			p.Same()
		}
	}
}

// A second copy is asked for after three changes in a row, and less often where it taught nothing.
func TestAgain(t *testing.T) {
	t.Parallel()
	for _, noise := range []bool{false, true} {
		p := new(Page)
		list := []string{"a"}
		p.Observe(copyOf(page(list...)))
		var asked []int
		for k := 1; k <= 50; k++ {
			list = append(list, fmt.Sprint("news ", k))
			if p.Observe(copyOf(page(list...))).Again {
				asked = append(asked, k)
				if noise {
					p.Teach(copyOf(page(append([]string{"n"}, list...)...)))
				} else {
					p.Teach(copyOf(append(page(list...), "<p id=x>"...)))
				}
			}
		}
		if noise {
			require.Equal(t, []int{3, 6, 9, 12}, asked[:4])
		} else {
			require.Equal(t, []int{3, 9, 21, 45}, asked)
		}
	}
}

// What has no blocks is compared by its bytes.
func TestPlain(t *testing.T) {
	t.Parallel()
	for _, bodies := range [][2]string{{`{"a": 1}`, `{"a": "1"}`}, {"\x00<p>a", "\x00<p >a"}, {"", "a"}, {"<img src=a>", "<img src=b>"},
		{"<\x00p>a</p>", "<p>a</p>"}, {"<p>a</p>", "\x89PNG\x00"}} {
		p := new(Page)
		require.Equal(t, Finding{First: true}, observe(p, []byte(bodies[0])))
		for range 4 {
			require.Equal(t, body, observe(p, []byte(bodies[1])), "%q", bodies)
			require.Equal(t, same, observe(p, []byte(bodies[1])))
			require.Equal(t, body, observe(p, []byte(bodies[0])))
		}
	}
	p := new(Page)
	require.False(t, p.Observe(copyOf([]byte("text"))).Again, "there is nothing to teach")
}

// A change in a second copy without places that could be learnt is found by the next copy.
func TestTeachPlain(t *testing.T) {
	t.Parallel()
	for _, bodies := range [][2]string{{`{"a": 1}`, `{"a": 2}`}, {"text", "other"}, {"\x89PNG\x00", "\x89PNG\x01"}} {
		p := new(Page)
		observe(p, []byte(bodies[0]))
		p.Teach(copyOf([]byte(bodies[1])))
		require.Equal(t, body, observe(p, []byte(bodies[1])))
	}
}

// However often a page that is compared byte by byte changes in a row, its state can be loaded, also
// one of those saved when such changes were counted.
func TestPlainChangesAlways(t *testing.T) {
	t.Parallel()
	p := new(Page)
	for k := range 300 {
		c := &Copy{Type: "application/json"}
		fmt.Fprintf(c, `{"n": %d}`, k)
		f := p.Observe(c)
		require.Equal(t, Finding{First: k == 0, Body: k > 0}, f)
		saved, err := p.MarshalBinary()
		require.NoError(t, err)
		twin := new(Page)
		require.NoError(t, twin.UnmarshalBinary(saved), "after %d changes", k)
	}
	p.streak = 200
	saved, err := p.MarshalBinary()
	require.NoError(t, err)
	require.NoError(t, p.UnmarshalBinary(saved))
	observe(p, []byte("<p>a"))
	saved, err = p.MarshalBinary()
	require.NoError(t, err)
	require.NoError(t, p.UnmarshalBinary(saved))
}

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
		require.Less(t, len(saved), 54_000)
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

// BenchmarkObserve measures what a copy costs once it is read, on a page of 500 blocks with noise.
func BenchmarkObserve(b *testing.B) {
	list := make([]string, 500)
	for i := range list {
		list[i] = fmt.Sprint("paragraph ", i)
	}
	var copies []*Copy
	for k := range 64 {
		list[250] = fmt.Sprint("nonce ", k)
		copies = append(copies, copyOf(page(list...)))
	}
	p := new(Page)
	b.ReportAllocs()
	k := 0
	for b.Loop() {
		p.Observe(copies[k%len(copies)])
		k++
	}
	b.ReportMetric(float64(unsafe.Sizeof(*p))+float64(12*cap(p.entries)+8*cap(p.places)), "state-bytes")
}
