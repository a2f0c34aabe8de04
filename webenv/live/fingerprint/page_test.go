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
			price := func(k int) string { return fmt.Sprint((k+6)/6, " EUR") }
			list := []string{"lamp", price(k), "chair", price(k - 4), "table", price(k - 4), "end"}
			if above {
				list[1], list[5] = list[5], list[1]
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

// A notice that is there from time to time, for some copies or for one, is no advertisement.
func TestSeldomNotice(t *testing.T) {
	t.Parallel()
	for _, stays := range []int{1, shortRun, shortRun + 1} {
		rng := rand.New(rand.NewPCG(1, 2))
		came, missed := 0, 0
		for range 20 {
			p := new(Page)
			observe(p, page("a", "b"))
			for k := range 40 {
				for range 6 + rng.IntN(25) { // the bytes of all copies differ
					observe(p, append(page("a", "b"), fmt.Sprintf("<i id=x%d></i>", rng.Uint64())...))
				}
				if f := observe(p, page("a", "notice", "b")); k > 0 {
					came++
					if !f.Changed() {
						missed++
					}
				}
				for range stays - 1 {
					observe(p, page("a", "notice", "b"))
				}
			}
		}
		require.Less(t, missed, came/4, "%d copies, of %d; 70 to 94 %% are missed if it is remembered for 32 copies", stays, came)
	}
}

// After 16 copies of absence a block is new again, or after 32 if it is one of three of its kind that came back
// before and left again after four copies or fewer, and has no number.
func TestForgotten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		texts  []string
		back   int // for how many copies they are back
		absent int
	}{
		{[]string{"flap", "flip", "flop"}, 0, forgetAfter},
		{[]string{"flap", "flip", "flop"}, 1, forgetRotating},
		{[]string{"flap", "flip", "flop"}, shortRun, forgetRotating},
		{[]string{"flap", "flip", "flop"}, shortRun + 1, forgetAfter},
		{[]string{"flap", "flip"}, 1, forgetAfter},
		{[]string{"flap 7", "flip 7", "flop 7"}, 1, forgetAfter},
	} {
		for absent := c.absent - 2; absent <= c.absent+2; absent++ {
			p := new(Page)
			with := page(append([]string{"a"}, c.texts...)...)
			observe(p, page("a"), with)
			if c.back > 0 {
				observe(p, page("a"))
			}
			for range c.back {
				observe(p, with)
			}
			var texts []string
			for k := range absent {
				texts = append(texts, fmt.Sprint("p", k))
				observe(p, page(append([]string{"a"}, texts...)...))
			}
			_, known := p.entry(copyOf(with).text.blocks[3].hash) // behind the title, the menu and "a"
			require.Equal(t, absent < c.absent, known, "%q, %d, %d", c.texts, c.back, absent)
			if c.back > 0 {
				now := append([]string{"a", c.texts[0]}, texts...)
				require.Equal(t, !known, observe(p, page(now...)).Body, "%q, %d, %d", c.texts, c.back, absent)
			}
		}
	}
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
