package queue

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// clockCounter counts how often it is asked.
type clockCounter struct {
	Pages
	asked int
}

func (c *clockCounter) Multiplier(group uint32, last float64) float64 {
	c.asked++
	return c.Pages.Multiplier(group, last)
}

// No call asks for many multipliers, however many pages there are: once or twice for each lot or list of a
// sweep, some for the pages of a list, and for those that are looked at.
func TestWorkIsBounded(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		sizes []int
		mean  float64
	}{{nil, 15}, {slices.Repeat([]int{2}, 1000), 90}, {[]int{300, 500, 30}, 30}} {
		c := polled(13, 2500, x.sizes...)
		counter := &clockCounter{Pages: c}
		sum, most := 0, 0
		const polls = 1000
		for range polls {
			c.now++
			p, _ := c.q.Best(c.now, counter)
			c.answer(p)
			require.Less(t, counter.asked, 600)
			most = max(most, counter.asked)
			sum += counter.asked
			counter.asked = 0
		}
		t.Logf("%d sets: %.1f, %d at most", len(x.sizes)+1, float64(sum)/polls, most)
		require.Less(t, float64(sum)/polls, x.mean)
	}
}

// Of many pages all lots are brought up to date within n/96 polls, of which each has a part, if there are
// fewer lots than that.
func TestSweepOfMany(t *testing.T) {
	t.Parallel()
	const n = manyPages
	w, q := newWeb(n, rand.New(rand.NewPCG(1, 1))), New(n)
	w.weight, w.power = slices.Repeat([]float64{1}, n), slices.Repeat([]float64{1}, n)
	q.Begin(n, 1, 1, 0, true)
	for k := range 100 {
		w.now = float64(1 + 300*k)
		p, _ := q.Best(w.now, w)
		q.Take(p)
		w.last[p] = w.now
		q.Put(p, w.now+n, w.now, w)
	}
	lots := q.sets.At(0).lots
	require.Greater(t, len(lots), 90)
	for _, at := range lots {
		q.lots.At(at).m = -1
	}
	counter, most := &clockCounter{Pages: w}, 0
	for news := range uint32(n / sweepRounds) {
		q.sets.At(0).news = news
		before := counter.asked
		q.sweep(mostSweep, w.now, counter)
		most = max(most, counter.asked-before)
	}
	for i, at := range lots {
		require.Positive(t, q.lots.At(at).m, "lot %d", i)
	}
	require.LessOrEqual(t, most, 2, "multipliers in a call")
	require.Less(t, counter.asked, 3*(len(lots)+1))
}

// Where pages are put in the order of their times, or in none, trees are about as deep as by chance. (In the
// opposite order they are deep, which costs nothing, as no path is followed but a random one.)
func TestTreesAreShallow(t *testing.T) {
	t.Parallel()
	const n = 4096
	for _, order := range []func(i int) float32{
		func(i int) float32 { return float32(i) },
		func(i int) float32 { return float32(i * 1664525 % n) },
	} {
		q := New(n)
		root := uint32(None)
		for i := range uint32(n) {
			q.plant(i, order(int(i)))
			root = q.meld(root, i)
		}
		q.place[root] = inLot
		sum := 0
		for i := range uint32(n) {
			for at := q.place[i]; at&tagMask == inTree; at = q.place[at] {
				sum++
			}
		}
		require.Less(t, sum, 2*12*n)
	}
}

// A queue takes 16 bytes a page, 20 with groups; 4 more for all and 12 for each page with a deadline, and 12
// for one that is held.
func TestBytes(t *testing.T) {
	t.Parallel()
	const n, some = 10_000, 100
	q := New(n)
	w := newWeb(n, rand.New(rand.NewPCG(1, 1)))
	per := func(more float64) { require.InDelta(t, more, float64(q.Bytes())/n, 0.1*some*12/n+0.1) }
	per(16)
	q.AddGroup()
	q.Take(0)
	q.Join(0, 0)
	q.Put(0, 0, 0, w)
	per(20)
	for p := range uint32(some) {
		q.Hold(p, 1)
	}
	held := 12 * float64(cap(q.sets.At(0).aside.held.Slot)+cap(q.sets.At(1).aside.held.Slot)) / n
	per(20 + held)
	for p := range uint32(some) {
		q.SetDeadline(p, 2)
	}
	per(24 + held + 12*float64(cap(q.sets.At(0).aside.deadlines.Slot)+cap(q.sets.At(1).aside.deadlines.Slot))/n)
	require.Equal(t, some, q.Deadlines())
	lots := q.lots.Cap()
	before := q.Bytes()
	for q.lots.Cap() == lots {
		q.lots.Add(lot{})
	}
	require.Equal(t, (q.lots.Cap()-lots)*int(unsafe.Sizeof(lot{})), q.Bytes()-before)
}

// Before there is a unit, what nodes say rises with each page that is put, from 1 to 2.
func TestOrderBeforeUnit(t *testing.T) {
	t.Parallel()
	q := New(2)
	for _, x := range []struct {
		early uint32
		want  float32
	}{{0, 1}, {1 << 19, 1.5}, {1 << 20, 2}, {math.MaxUint32, 2}} {
		q.early = x.early
		require.Equal(t, x.want, q.span(7))
	}
}
