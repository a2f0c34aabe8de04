package fingerprint

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// kindsOf returns the kinds of the blocks of a copy.
func kindsOf(mediaType, body string) (kinds []kind) {
	c := &Copy{Type: mediaType}
	_, _ = c.Write([]byte(body))
	c.finish()
	for _, b := range c.text.blocks {
		kinds = append(kinds, b.kind)
	}
	return kinds
}

// The tags before and in a block make its kind, and whether it has a number; attributes and text do not.
func TestKindOf(t *testing.T) {
	t.Parallel()
	k := kindsOf("text/html", `<ul><li><a href=1>one</a><p>3 replies<li><a href=2 class=x><!-- c -->two</a><p id=2>40 views<li><b>three</b><p>many</ul>`)
	require.Len(t, k, 6)
	require.NotEqual(t, k[0], k[2], "behind the list's own tag and behind the item before")
	require.Equal(t, k[1], k[3])
	require.NotEqual(t, k[2], k[4], "a link and bold text")
	require.NotEqual(t, k[1], k[5], "without a number")
	require.NotEqual(t, kindsOf("text/html", "<p>x<br>y")[1], kindsOf("text/html", "<p>x</br>y")[1], "an end tag")
	require.NotEqual(t, kindsOf("text/html", "<p>x y")[0], kindsOf("text/html", "<p>x <b>y</b>")[0], "bold text in it")
	k = kindsOf("text/html", "<table><tr><td>row 1<td>10<td>20<td></tr>\n<tr><td>row 2<td>30<td>40</table>")
	require.Len(t, k, 6)
	require.Equal(t, k[1], k[4])
	require.Equal(t, k[2], k[5])
	require.NotEqual(t, k[1], k[2], "another column")
	k = kindsOf("text/xml", `<rss><i><t>one</t><c>3</c></i><i n="4"><t>two</t><c>5</c></i></rss>`)
	require.Len(t, k, 5)
	require.Equal(t, k[1], k[4])
	require.NotContains(t, k, kind(0))
	require.Equal(t, []kind{0, 0}, kindsOf("application/json", `{"at":"2026-09-30"}`), "JSON has none")
	for tags := range uint64(1000) {
		require.Equal(t, kindOf(tags, false)+1, kindOf(tags, true))
		require.Greater(t, kindOf(tags, false), kind(1))
	}
	k = kindsOf("text/html", strings.Repeat("<p>x", maxBlocks+1))
	require.Zero(t, k[maxBlocks], "nor has a group of blocks")
}

// A threads page has a title, a number and a price for each thread, with tags of their own.
type threads struct {
	titles         []string
	views, replies []int
}

func (l *threads) add(title string) {
	l.titles = append([]string{title}, l.titles...)
	l.views = append([]int{1000}, l.views...)
	l.replies = append([]int{7}, l.replies...)
}

func (l *threads) page() []byte {
	var b strings.Builder
	b.WriteString("<h1>threads</h1>")
	for i, title := range l.titles {
		fmt.Fprintf(&b, "<h2>%s</h2><p>%d views</p><div>replies: %d</div>", title, l.views[i], l.replies[i])
	}
	return []byte(b.String())
}

// known returns a list of n threads, and a page that has learnt that the views of some of them change.
func known(n, some int) (*threads, *Page) {
	l, p := new(threads), new(Page)
	for i := range n {
		l.add(fmt.Sprint("thread ", i, "x"))
		l.views[0], l.replies[0] = 100*i, i
	}
	for range 8 {
		l.view(some)
		observe(p, l.page())
	}
	l.view(some)
	return l, p
}

func (l *threads) view(some int) {
	for i := range some {
		l.views[len(l.views)-1-i]++
	}
}

// A new item costs one change, whatever its numbers do afterwards, and hides nothing.
func TestNewItem(t *testing.T) {
	t.Parallel()
	l, p := known(6, 6)
	require.Equal(t, same, observe(p, l.page()))
	l.add("new")
	require.Equal(t, body, observe(p, l.page()))
	for k := range 30 {
		l.view(7)
		require.Equal(t, same, observe(p, l.page()), "copy %d", k)
		if k%3 == 0 { // of another kind
			q := p.Clone()
			l.view(7)
			l.replies[0]++
			require.Equal(t, body, observe(q, l.page()), "copy %d", k)
			l.replies[0]--
			l.titles[0] += "a"
			require.Equal(t, body, observe(p.Clone(), l.page()), "copy %d", k)
			l.titles[0] = l.titles[0][:len(l.titles[0])-1]
		}
	}
}

// Columns of a table are of different kinds, so that noise in one hides nothing in the others.
func TestColumns(t *testing.T) {
	t.Parallel()
	p := new(Page)
	price, rows := 55555, 6
	table := func(k int) []byte {
		s := "<table>"
		for i := range rows {
			s += fmt.Sprintf("<tr><td>item %dx<td>%d<td>%d<td>%d", rows-i, (i+1)/rows*price+rows-i, 1000*k+i, 7003*k+100+i)
		}
		return []byte(s)
	}
	for k := range 10 {
		observe(p, table(k))
	}
	for k := 10; k < 14; k++ {
		require.Equal(t, same, observe(p, table(k)))
		price++
		require.Equal(t, body, observe(p, table(-k)))
	}
	rows++
	require.Equal(t, body, observe(p, table(14)))
	for k := 15; k < 30; k++ {
		require.Equal(t, same, observe(p, table(k)), "copy %d", k)
	}
}

// A kind is noisy if at least three of its blocks in two places come and go, and half of all.
func TestNoisyKind(t *testing.T) {
	t.Parallel()
	for some := range 7 {
		for n := max(1, some); n < 14; n++ {
			l, p := known(n, some)
			require.Equal(t, same, observe(p, l.page()))
			l.add("new")
			require.Equal(t, body, observe(p, l.page()))
			l.view(some)
			l.views[0]++
			noisy := some >= 3 && 2*some >= n // the new one does not count
			require.Equal(t, noisy, observe(p, l.page()) == same, "%d of %d", some, n)
		}
	}
	for _, two := range []bool{false, true} { // places of the three
		p := new(Page)
		texts := func(k, n int) []byte {
			list := []string{"before", "x", fmt.Sprint(k, " a"), fmt.Sprint(k, " b"), fmt.Sprint(k, " c"), "z", fmt.Sprint(n, " d")}
			if two {
				list = slices.Insert(list, 4, "y")
			}
			return page(list...)
		}
		for k := range 8 {
			observe(p, texts(k, 0))
		}
		require.Equal(t, same, observe(p, texts(8, 0)))
		require.Equal(t, body, observe(p, texts(9, 1)))
		require.Equal(t, two, observe(p, texts(10, 2)) == same)
	}
}

// More blocks of a noisy kind than before are a change; so is one that leaves after it had stayed, or was
// there from the first copy on. One in another place instead of one that left is none.
func TestQuietKind(t *testing.T) {
	t.Parallel()
	list := func(k, last int, more ...string) []byte {
		s := "<h1>top</h1>" + strings.Join(more, "")
		for i := range 5 {
			s += fmt.Sprintf("<h2>row %dx</h2><p>%d</p>", i, 10*k+i)
		}
		return []byte(s + fmt.Sprintf("<h2>last</h2><p>%d</p><h2>end</h2><h2>bottom</h2>", last))
	}
	for _, stayed := range []int{1, 4, 11, 12, 40} {
		p := new(Page)
		k := 0
		next := func(last int, more ...string) Finding {
			k++
			return observe(p, list(k, last, more...))
		}
		for range 20 {
			next(1)
		}
		require.Equal(t, body, next(2), "it stayed for 20 copies")
		for range stayed - 1 {
			require.Equal(t, same, next(2))
		}
		require.Equal(t, stayed < lateAfter, next(3) == same, "after %d copies", stayed)
		at := func(before, end, bottom string) []byte { // the last number, and perhaps others
			k++
			return []byte(strings.Replace(string(list(k, 3)), "<p>3</p><h2>end</h2><h2>bottom</h2>", before+"<h2>end</h2>"+end+"<h2>bottom</h2>"+bottom, 1))
		}
		require.Equal(t, body, observe(p.Clone(), at("<p>3</p>", "<p>4000</p>", "")), "one more")
		require.Equal(t, same, observe(p, at("", "<p>4000</p>", "")), "one that came and goes is elsewhere")
		require.Equal(t, same, observe(p, at("<p>5000</p>", "", "")), "and again")
		require.Equal(t, stayed < lateAfter, observe(p.Clone(), at("<p>5000</p>", "<p>3</p>", "")) == same, "one that was not masked comes back beside it")
		require.Equal(t, same, observe(p.Clone(), at("", "<p>3</p>", "")), "or instead")
		require.Equal(t, body, observe(p.Clone(), at("", "<p>6000</p>", "<p>7000</p>")), "two instead of one")
	}
	for copies := 2; copies < 9; copies++ { // once three rows are known
		p := new(Page)
		for k := range copies {
			observe(p, list(k, 1111))
		}
		require.Equal(t, body, observe(p, list(copies, 2222)), "it was there from the first copy on: %d", copies)
	}
}

// What stayed for twelve copies is content, or for 36 if it was masked when it came, even if another page was
// there in between.
func TestLastedKind(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		masked bool // when it came
		stays  int
	}{{false, lateAfter}, {true, lastsAfter}} {
		for _, errors := range []bool{false, true} {
			for _, less := range []int{0, 1} {
				l, p := known(6, 5)
				next := func(some int) Finding {
					l.view(some)
					return observe(p, l.page())
				}
				l.views[0] = 20001
				require.Equal(t, body, next(5), "it was there from the first copy on")
				if test.masked {
					l.views[0] = 20002
					require.Equal(t, same, next(5))
				}
				for range test.stays - 1 - less {
					require.Equal(t, same, next(5))
				}
				if errors {
					require.True(t, observe(p, page("error 503")).Changed())
					require.True(t, next(5).Changed(), "all come back at once")
					require.Equal(t, same, next(5))
				}
				l.views[0] = 20003
				require.Equal(t, less > 0, next(5) == same, "%+v, %v", test, errors)
			}
		}
	}
}

// TestSlowCounters has 20 counters, each of which changes at one poll of five and stays for 36 copies once in
// 3,000 times. With 12 in place of 36, a third of the polls would be false changes.
func TestSlowCounters(t *testing.T) {
	t.Parallel()
	reported, polls := 0, 0
	for seed := range uint64(10) {
		rng := rand.New(rand.NewPCG(seed, 2))
		l, p := new(threads), new(Page)
		for i := range 20 {
			l.add(fmt.Sprint("thread ", i, "x"))
			l.views[0] = 1e6 * i
		}
		for k := range 300 {
			for i := range l.views {
				if rng.IntN(5) == 0 {
					l.views[i]++
				}
			}
			if f := observe(p, l.page()); k >= 50 {
				polls++
				if f.Changed() {
					reported++
				}
			}
		}
	}
	t.Logf("%d of %d", reported, polls)
	require.Less(t, reported, polls/20)
}

// A masked block that stays is reported late only when the others of its kind stay, too.
func TestLateKind(t *testing.T) {
	t.Parallel()
	l, p := known(6, 6)
	for k := range 40 { // one stands still
		require.Equal(t, same, observe(p, l.page()), "copy %d", k)
		l.view(5)
	}
	var late []int
	for k := range 30 {
		if f := observe(p, l.page()); f.Late {
			late = append(late, k)
		}
	}
	require.Equal(t, []int{lateAfter - 1}, late)
}

// Where several blocks have the same text, nobody knows for how long one was there.
func TestAlikeKind(t *testing.T) {
	t.Parallel()
	reported, polls := 0, 0
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 1))
		p := new(Page)
		var likes [20]int
		for k := range 60 {
			s := "<h1>comments</h1>"
			for i := range likes {
				if rng.IntN(3) == 0 {
					likes[i] = rng.IntN(10)
				}
				s += fmt.Sprintf("<h2>comment %dx</h2><p>%d likes</p>", i, likes[i])
			}
			if f := observe(p, []byte(s)); k > 20 {
				polls++
				if f.Changed() {
					reported++
				}
			}
		}
	}
	t.Logf("%d of %d", reported, polls)
	require.Less(t, reported, polls/20)
}

// Numbers of a noisy kind are never masked if Numbers is set.
func TestLoudKind(t *testing.T) {
	t.Parallel()
	l, p := known(6, 6)
	p.Numbers = true
	require.Equal(t, body, observe(p, l.page()))
}
