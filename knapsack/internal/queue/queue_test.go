package queue

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec"
)

// web is pages whose indices are powers of their elapsed times.
type web struct {
	last   []float64
	weight []float64
	power  []float64
	group  []uint32
	// surges of each group: from when on its pages change so many times as fast as they are used
	// to. A group has evidence of that: expected changes per unit of time.
	surges   map[uint32][]surge
	evidence float64
	now      float64
	looks    int
}

type surge struct{ at, factor float64 }

func (w *web) Last(slot uint32) float64 { return w.last[slot] }

func (w *web) Touch(slot uint32) float64 { return w.last[slot] }

// Multiplier is that of package factor, for evidence that is worth two expected changes.
func (w *web) Multiplier(group uint32, last float64) float64 {
	const pull = 2
	expected := w.evidence * max(0, w.now-last)
	found, until := 0.0, w.now
	for _, s := range slices.Backward(w.surges[group]) {
		from := max(last, s.at)
		found += max(0, until-from) * w.evidence * s.factor
		until = min(until, s.at)
	}
	found += max(0, until-last) * w.evidence
	return (pull + found) / (pull + expected)
}

func (w *web) elapsed(slot uint32, now float64) float64 {
	return w.Multiplier(w.group[slot], w.last[slot]) * max(0, now-w.last[slot])
}

func (w *web) Index(slot uint32, now float64) float64 {
	w.looks++
	w.now = max(w.now, now)
	return w.weight[slot] * math.Pow(w.elapsed(slot, now), w.power[slot])
}

func (w *web) Look(slot uint32, now, level float64) (index, due float64) {
	index = w.Index(slot, now)
	if index >= level {
		return index, now
	}
	return index, w.when(slot, now, level)
}

func (w *web) when(slot uint32, now, level float64) float64 {
	gap := math.Pow(level/w.weight[slot], 1/w.power[slot]) / w.Multiplier(w.group[slot], w.last[slot])
	return now + 0.9*(w.last[slot]+gap-now)
}

func newWeb(n int, rng *rand.Rand) *web {
	w := &web{surges: map[uint32][]surge{}, evidence: 1}
	for range n {
		w.last = append(w.last, 0)
		w.weight = append(w.weight, math.Exp(1.5*rng.NormFloat64()))
		w.power = append(w.power, 0.7+1.3*rng.Float64())
		w.group = append(w.group, None)
	}
	return w
}

// begun returns a web at time 1, and a queue of its pages, which were answered at 0 and are alike or not.
func begun(n int, alike bool) (*web, Queue) {
	w, q := newWeb(n, rand.New(rand.NewPCG(1, 1))), New(n)
	q.Begin(float64(n), 1, 1, 0, alike)
	w.now = 1
	return w, q
}

func encoded(t require.TestingT, q *Queue) []byte {
	e := codec.NewEncoder("q", 1)
	q.Encode(e)
	data, err := e.Finish()
	require.NoError(t, err)
	return data
}

func restored(t require.TestingT, q *Queue) Queue {
	data := encoded(t, q)
	d, err := codec.NewDecoder(data, "q", 1)
	require.NoError(t, err)
	r := Decode(d, len(q.place), func(slot int) bool { return q.Waits(uint32(slot)) })
	require.NoError(t, d.Done())
	require.Equal(t, data, encoded(t, &r))
	return r
}

func FuzzQueueState(f *testing.F) {
	q := New(3)
	f.Add(encoded(f, &q))
	f.Fuzz(func(_ *testing.T, data []byte) {
		if d, err := codec.NewDecoder(data, "q", 1); err == nil {
			Decode(d, 3, func(int) bool { return true })
		}
	})
}

// Best is nearly exact, and looks at few pages, however groups of all sizes surge and rest. It is
// long because what happens to the queue at a poll and the account of it share their state.
func TestBestWithGroups(t *testing.T) {
	t.Parallel()
	for _, n := range []int{300, 2000} {
		if n > 300 && testing.Short() {
			continue
		}
		for _, size := range []int{0, 1, 6, 60, n / 3} { // pages per group
			rng := rand.New(rand.NewPCG(1, uint64(size)))
			w := newWeb(n, rng)
			q := New(n)
			groups := uint32(0)
			if size > 0 {
				for p := range uint32(n) {
					if int(p) >= int(groups)*size {
						groups++
						q.AddGroup()
					}
					q.Take(p)
					q.Join(p, groups-1)
					w.group[p] = groups - 1
					q.Put(p, 0, 0, w)
				}
			}
			w.evidence = float64(max(1, size)) / 2 / float64(n)
			if size == 0 {
				w.evidence = 0.5
			}
			got, want, worst := 0.0, 0.0, []float64(nil)
			q.Begin(float64(n), 1, 1, 0, false)
			for k := range 6 * n {
				now := float64(k + 1)
				w.now = now
				group := uint32(None)
				if size > 0 {
					group = rng.Uint32N(groups)
				}
				if rng.IntN(max(20, n/max(1, int(groups)))) == 0 { // a surge of a group, or a rest
					w.surges[group] = append(w.surges[group], surge{now, []float64{0.3, 1, 3}[rng.IntN(3)]})
					q.News(group, now, w)
					if size > 32 || size == 0 { // it counts answers
						for range n / 40 {
							q.News(group, now, w)
						}
					}
				}
				best := 0.0
				if k > n && k%(1+n/100) == 0 {
					looks := w.looks
					for p := range uint32(n) {
						best = max(best, w.Index(p, now))
					}
					w.looks = looks
				}
				for i := range 3 { // a sweep, as the filter has
					p := uint32((3*k + i) % n)
					if index := w.Index(p, now); !q.Hot(p) && index > 0.6*q.Level() {
						q.Rekey(p, max(now, w.when(p, now, q.Level())), now, w)
					}
				}
				p, index := q.Best(now, w)
				q.Take(p)
				if best > 0 {
					got, want = got+index, want+best
					worst = append(worst, index/best)
				}
				w.last[p] = now
				q.Put(p, w.when(p, now, q.Level()), now, w)
				q.News(w.group[p], now, w)
			}
			slices.Sort(worst)
			t.Logf("%d pages in groups of %d: mean %.4f, 1st percentile %.4f, %.1f looks a poll", n, size, got/want,
				worst[len(worst)/100], float64(w.looks)/float64(6*n))
			require.Greater(t, got/want, 0.97)
		}
	}
}

// A change of the pace leaves times finite.
func TestHastenStaysFinite(t *testing.T) {
	for _, base := range []float64{-1e299, 0, 1e299} {
		l := lot{base: base, due: 1e305, root: 0}
		l.hasten(1e10)
		require.Equal(t, math.MaxFloat64, l.due)
	}
}

// Of lots that are due at one time the first one of the set is taken, in whichever order they were made.
func TestLotsDueAtOnce(t *testing.T) {
	t.Parallel()
	q := New(flatMost + 1)
	late := q.insertLot(0, 1, 5, 1)
	soon := q.insertLot(0, 1, 3, 1)
	alike := q.insertLot(0, 1, 3, 1)
	q.lots.At(alike).alike = true
	order := []uint32{q.sets.At(0).lots[0], alike, soon, late}
	require.Equal(t, order, q.sets.At(0).lots)
	for _, at := range order {
		q.setDue(at, 7)
	}
	for _, want := range order {
		require.Equal(t, 7.0, q.firstLot(0))
		require.Equal(t, want, q.sets.At(0).best)
		q.setDue(want, 8)
	}
	require.Equal(t, 8.0, q.firstLot(0))
	require.Equal(t, order[0], q.sets.At(0).best)
}
