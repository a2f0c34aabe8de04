package knapsack

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/codec"
)

var noon = time.Unix(1.7e9, 0)

func after(s float64) time.Time { return noon.Add(time.Duration(s * 1e9)) }

// keyed returns a Keyed with n URLs.
func keyed(l Learner, n int) *Keyed[string] {
	k := NewKeyed[string](l)
	for i := range n {
		k.Add(url(i))
		if f, ok := l.(*Fixed); ok {
			_ = f.SetFrequency(i, 1+float64(i%3))
		}
	}
	return k
}

func url(i int) string { return fmt.Sprintf("https://host%d.test/page/%d", i%7, i) }

// A Keyed does what the learner inside would do, saved and restored or not, whatever the learner
// is; polls in flight come back.
func TestKeyedIsItsLearner(t *testing.T) {
	t.Parallel()
	for _, c := range learners {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			const n = 9
			k := keyed(c.make(0, 5), n)
			bare := c.make(0, 5)
			page := map[string]int{}
			key := map[int]string{}
			add := func(i int) {
				p := bare.Add()
				page[url(i)], key[p] = p, url(i)
				if f, ok := bare.(*Fixed); ok {
					require.NoError(t, f.SetFrequency(p, 1+float64(i%3)))
				}
			}
			for i := range n {
				add(i)
			}
			rng := rand.New(rand.NewPCG(3, 3))
			var flying []string
			for step := range 400 {
				at := 1.7e9 + float64(step)/4
				got, err := k.Next(after(float64(step) / 4))
				want, err2 := bare.Next(at)
				if none := (*NoPageError)(nil); errors.As(err, &none) {
					err = none // whose text differs
				}
				require.Equal(t, err2, err)
				if err == nil {
					require.Equal(t, key[want], got)
					flying = append(flying, got)
				}
				for len(flying) > 3 {
					i := rng.IntN(len(flying))
					u := flying[i]
					flying = slices.Delete(flying, i, i+1)
					if rng.IntN(4) == 0 {
						require.NoError(t, k.GiveBack(u, after(float64(step)/4)))
						require.NoError(t, bare.GiveBack(page[u], at))
						continue
					}
					changed := rng.IntN(3) == 0
					require.NoError(t, k.Observe(u, after(float64(step)/4), changed))
					require.NoError(t, bare.Observe(page[u], at, changed))
				}
				if step == 150 || step == 151 {
					u := url(step - 149)
					require.NoError(t, k.Remove(u))
					require.NoError(t, bare.Remove(page[u]))
					delete(key, page[u])
					delete(page, u)
					flying = slices.DeleteFunc(flying, func(v string) bool { return v == u })
				}
				if step == 160 {
					require.True(t, k.Add(url(77)))
					add(77)
					require.NoError(t, With(k, func(l Learner, page func(string) (int, error)) error {
						if f, ok := l.(*Fixed); ok {
							return f.SetFrequency(must(page(url(77))), 1+77%3)
						}
						return nil
					}))
				}
				if step == 200 {
					other := NewKeyed[string](c.make(0, 99))
					require.NoError(t, other.UnmarshalBinary(must(k.MarshalBinary())))
					k = other
					require.Empty(t, maps.Collect(k.InFlight()))
					slices.SortFunc(flying, func(a, b string) int { return Slot(page[a]) - Slot(page[b]) })
					for _, u := range flying {
						require.NoError(t, bare.GiveBack(page[u], at))
					}
					flying = nil
				}
				require.Equal(t, bare.Len(), k.Len())
			}
			var all []string
			for p := range bare.All() {
				all = append(all, key[p])
			}
			require.Equal(t, all, slices.Collect(k.All()))
			var inFlight []string
			for u, at := range k.InFlight() {
				require.True(t, at.After(noon) && !at.After(after(100)))
				inFlight = append(inFlight, u)
			}
			require.ElementsMatch(t, flying, inFlight)
		})
	}
}

// Record, Defer and Due are those of the learner, or say that it has none.
func TestKeyedOptionalMethods(t *testing.T) {
	t.Parallel()
	bare, inside := must(NewRateFilter(0, RateFilterConfig{})), must(NewRateFilter(0, RateFilterConfig{}))
	k := keyed(inside, 3)
	for range 3 {
		bare.Add()
	}
	require.Zero(t, must(k.Due(url(0))), "at once")
	require.NoError(t, k.Defer(url(0), after(-1)))
	require.Equal(t, after(-1), must(k.Due(url(0))))
	require.NoError(t, bare.Defer(0, float64(noon.Unix())-1))
	start := float64(noon.Unix())
	for i := range 40 {
		page, err := bare.Next(start + float64(i))
		require.NoError(t, err)
		key, err := k.Next(after(float64(i)))
		require.NoError(t, err)
		require.Equal(t, url(page), key)
		require.NoError(t, bare.Observe(page, start+float64(i), i%3 == 0))
		require.NoError(t, k.Observe(key, after(float64(i)), i%3 == 0))
	}
	same := func() {
		t.Helper()
		require.Equal(t, must(bare.MarshalBinary()), must(inside.MarshalBinary()))
		for page := range 3 {
			due, err := k.Due(url(page))
			require.NoError(t, err)
			require.Equal(t, moment(must(bare.Due(page))), due)
		}
	}
	same()
	require.NoError(t, bare.Record(1, start+50, true))
	require.NoError(t, k.Record(url(1), after(50), true))
	same()
	require.NoError(t, bare.Defer(2, start+500))
	require.NoError(t, k.Defer(url(2), after(500)))
	same()
	require.False(t, must(k.Due(url(2))).Before(after(500)))
	require.NoError(t, bare.Defer(2, math.Inf(-1)))
	require.NoError(t, k.Defer(url(2), time.Time{}))
	same()
	require.True(t, must(k.Due(url(2))).Before(after(500)))

	require.NoError(t, bare.Signal(1, 3, start+55))
	require.NoError(t, k.Signal(url(1), 3, after(55)))
	same()
	require.NoError(t, bare.RecordChanges(0, start-90, start+520, []float64{start + 505, start + 515}))
	require.NoError(t, k.RecordChanges(url(0), after(-90), after(520), []time.Time{after(505), after(515)}))
	same()
	require.NoError(t, bare.RecordChanges(0, math.Inf(-1), start+530, []float64{start + 525}))
	require.NoError(t, k.RecordChanges(url(0), time.Time{}, after(530), []time.Time{after(525)}))
	same()
	for _, bad := range []error{
		k.RecordChanges(url(0), time.Time{}, after(540), []time.Time{after(535), {}}),
		k.RecordChanges(url(0), time.Time{}, after(540), []time.Time{after(545)}), // after until
		k.RecordChanges(url(0), time.Time{}, time.Time{}, nil),
	} {
		require.ErrorIs(t, bad, ErrTime)
	}
	same()

	unknown := func(err error) { t.Helper(); require.ErrorIs(t, err, ErrUnknown) }
	unknown(k.Record("gone", noon, true))
	unknown(k.Defer("gone", noon))
	unknown(second(k.Due("gone")))
	unknown(k.Signal("gone", 0, noon))
	unknown(k.RecordChanges("gone", time.Time{}, noon, nil))
	require.ErrorIs(t, k.Record(url(0), time.Time{}, true), ErrTime)

	plain := NewKeyed[string](&bareLearner{Learner: must(NewRateFilter(0, RateFilterConfig{}))})
	plain.Add("a")
	for _, err := range []error{plain.Record("a", noon, true), plain.Defer("a", noon), second(plain.Due("a")),
		plain.Signal("a", 0, noon), plain.RecordChanges("a", noon, noon, nil)} {
		require.ErrorIs(t, err, errors.ErrUnsupported)
		var about *KeyError[string]
		require.ErrorAs(t, err, &about)
	}
}

// A bareLearner has the methods of Learner only.
type bareLearner struct{ Learner }

func second[T any](_ T, err error) error { return err }

// Errors carry the key; nothing else changes.
func TestKeyedErrors(t *testing.T) {
	t.Parallel()
	k := keyed(must(NewRateFilter(0, RateFilterConfig{})), 2)
	require.False(t, k.Add(url(1)))
	for _, call := range []func() error{
		func() error { return k.Observe("gone", noon, true) },
		func() error { return k.GiveBack("gone", noon) },
		func() error { return k.Remove("gone") },
		func() error { _, err := k.Export("gone"); return err },
		func() error {
			return With(k, func(_ *RateFilter, page func(string) (int, error)) error {
				_, err := page("gone")
				return err
			})
		},
	} {
		err := call()
		require.ErrorIs(t, err, ErrUnknown)
		var about *KeyError[string]
		require.ErrorAs(t, err, &about)
		require.Equal(t, "gone", about.Key)
		require.ErrorContains(t, err, "gone")
	}
	var about *KeyError[string]
	require.ErrorAs(t, k.Observe(url(0), noon, true), &about)
	require.ErrorIs(t, about, ErrNotAsked)
	require.Equal(t, url(0), about.Key)
	_, err := k.Next(time.Time{})
	require.ErrorIs(t, err, ErrTime)
	must(k.Next(noon))
	require.ErrorIs(t, k.Observe(url(0), time.Time{}, true), ErrTime)

	// Clocks go back.
	u := must(k.Next(noon.Add(-time.Hour)))
	require.NoError(t, k.Observe(u, noon.Add(-2*time.Hour), true))
	require.ErrorIs(t, k.Observe(u, noon.Add(-2*time.Hour), true), ErrNotAsked)
	_, err = k.Next(noon)
	require.NoError(t, err)
	_, err = k.Next(noon)
	require.ErrorIs(t, err, ErrNoPage)

	require.ErrorIs(t, With(k, func(*Planner, func(string) (int, error)) error { return nil }), errors.ErrUnsupported)
	failed := errors.New("failed")
	require.ErrorIs(t, With(k, func(*RateFilter, func(string) (int, error)) error { return failed }), failed)
	require.Panics(t, func() {
		_ = With(k, func(f *RateFilter, _ func(string) (int, error)) error { f.Add(); return nil })
	})
}

// The learner's times have the parts of seconds that time.Time has, also before 1970. What is out of
// range is the zero time.
func TestKeyedTimes(t *testing.T) {
	t.Parallel()
	for s, want := range map[float64]time.Time{
		0: time.Unix(0, 0), 1.7e9: noon, 1.7e9 + .625: noon.Add(625 * time.Millisecond), -1.75: time.Unix(-1, -75e7),
		1e15: {}, -1e15: {}, math.Inf(1): {}, math.NaN(): {},
	} {
		require.Equal(t, want, moment(s))
		if !want.IsZero() {
			require.Equal(t, s, must(seconds(want)))
		}
	}
}

// The zero time ends a Defer where the clock shows a time before 1970, too, as in a simulation.
func TestKeyedDeferEndsBefore1970(t *testing.T) {
	t.Parallel()
	k := keyed(must(NewRateFilter(0, RateFilterConfig{})), 1)
	at := time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC)
	require.NoError(t, k.Defer(url(0), at.Add(time.Hour)))
	require.ErrorIs(t, second(k.Next(at)), ErrNoPage)
	require.NoError(t, k.Defer(url(0), time.Time{}))
	require.True(t, must(k.Due(url(0))).IsZero(), "at once")
	require.NoError(t, second(k.Next(at)))
}

func TestKeyedZeroValuePanics(t *testing.T) {
	t.Parallel()
	const message = "knapsack: a Keyed without a learner: make it with NewKeyed"
	var k Keyed[int]
	require.PanicsWithValue(t, message, func() { k.Add(1) })
	require.PanicsWithValue(t, message, func() { _, _ = k.Next(noon) })
	require.PanicsWithValue(t, message, func() { _ = k.UnmarshalBinary(nil) })
	require.PanicsWithValue(t, "knapsack: NewKeyed of no learner", func() { NewKeyed[int](nil) })
	require.PanicsWithValue(t, "knapsack: NewKeyed of a learner that has 3 pages already",
		func() { NewKeyed[int](must(NewRateFilter(3, RateFilterConfig{}))) })
}

// A page comes with nothing that its learner would refuse.
func TestKeyedImportRange(t *testing.T) {
	t.Parallel()
	fixed := must(NewFixed(nil, Even, nil))
	k := keyed(fixed, 1)
	for x, want := range map[float64]error{0: nil, 1e290: nil, 1.1e290: ErrCorrupt, 1e308: ErrCorrupt, -1: ErrCorrupt} {
		fixed.roster.Set(0, x)
		row := must(k.Export(url(0)))
		require.ErrorIs(t, keyed(must(NewFixed(nil, Even, nil)), 0).Import(url(0), row), want, "%v", x)
	}
	filter := must(NewRateFilter(0, RateFilterConfig{}))
	k = keyed(filter, 1)
	for at, want := range map[float64]error{math.Inf(-1): nil, -9e298: nil, 9e298: nil, -1e299: ErrCorrupt, 1e299: ErrCorrupt} {
		filter.polled[0] = at
		row := must(k.Export(url(0)))
		require.ErrorIs(t, keyed(must(NewRateFilter(0, RateFilterConfig{})), 0).Import(url(0), row), want, "%v", at)
	}
}

// The key of a page that was removed is not kept in memory.
func TestKeyedForgetsKeys(t *testing.T) {
	t.Parallel()
	k := keyed(must(NewFixed(nil, Even, nil)), 3)
	require.NoError(t, k.Remove(url(1)))
	require.NotContains(t, k.keys, url(1))
	require.NotContains(t, k.pages, url(1))
	require.Equal(t, []string{url(0), url(2)}, slices.Collect(k.All()))
}

// A page takes nothing over from one that was removed and whose place it takes.
func TestKeyedExportOfANewPage(t *testing.T) {
	t.Parallel()
	row := func(changed bool) []byte {
		k := keyed(must(NewRateFilter(0, RateFilterConfig{})), 1)
		for i := range 20 {
			at := after(float64(i))
			require.NoError(t, k.Observe(must(k.Next(at)), at, changed && i == 19))
		}
		require.NoError(t, k.Remove(url(0)))
		require.True(t, k.Add(url(1)))
		return must(k.Export(url(1)))
	}
	require.Equal(t, row(false), row(true))
}

// What is known of a page goes through a row of a database into a new crawl.
func TestKeyedExport(t *testing.T) {
	t.Parallel()
	for _, c := range learners {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			const n = 6
			k := keyed(c.make(0, 5), n)
			if _, ok := k.learner.(pager); !ok {
				_, err := k.Export(url(0))
				require.ErrorIs(t, err, errors.ErrUnsupported)
				require.ErrorIs(t, k.Import(url(0), nil), errors.ErrUnsupported)
				return
			}
			magic := strings.Replace(fmt.Sprintf("%T", k.learner), "*knapsack.", "recrawl/", 1) + ".page"
			version := byte(1)
			switch k.learner.(type) {
			case *RateFilter:
				version = 4
			case *Planner:
				version = 2
			}
			header := must(codec.NewEncoder(magic, version).Finish())
			header = header[:len(header)-4] // without its checksum
			for i := range 300 {
				u := must(k.Next(after(float64(i))))
				require.NoError(t, k.Observe(u, after(float64(i)), i%(2+len(u)%3) == 0 || u == url(1)))
			}
			for i := range n {
				flying := i == n-1
				var u string
				if flying {
					u = must(k.Next(after(300)))
				} else {
					u = url(i)
				}
				row := must(k.Export(u))
				require.Less(t, len(row), 350)
				require.True(t, bytes.HasPrefix(row, header), "%q", row)
				before := must(k.MarshalBinary())
				require.NoError(t, k.Import(u, row))
				switch k.learner.(type) {
				case *LAKG, *RateFilter: // the page changes place among its like
				default:
					require.Len(t, must(k.MarshalBinary()), len(before))
				}
				again := must(k.Export(u))
				require.Equal(t, row, again, "into itself")
				other := NewKeyed[string](c.make(0, 1))
				require.NoError(t, other.Import(u, row))
				require.Equal(t, 1, other.Len())
				require.Equal(t, row, must(other.Export(u)), "into a new one")
				for at := range len(row) {
					row[at] ^= 4
					require.ErrorIs(t, other.Import("bad", row), ErrCorrupt)
					row[at] ^= 4
				}
				require.Equal(t, 1, other.Len(), "a refused page is not added")
				spinKeyed(t, other)
			}
			spinKeyed(t, k)
		})
	}
}

func spinKeyed(t *testing.T, k *Keyed[string]) {
	for i := range 40 {
		if u, err := k.Next(after(400 + float64(i))); err == nil {
			require.NoError(t, k.Observe(u, after(400+float64(i)), i%2 == 0))
		} else {
			require.ErrorIs(t, err, ErrNoPage)
		}
	}
	must(k.MarshalBinary())
}

// Workers race: a feed that was fetched before the last answer to its page came tells nothing new, and is no error.
func TestKeyedRacingFeed(t *testing.T) {
	t.Parallel()
	k := keyed(must(NewRateFilter(0, RateFilterConfig{})), 2)
	for i := range 100 {
		u := must(k.Next(after(float64(i))))
		require.NoError(t, k.Observe(u, after(float64(i)), i%3 == 0))
	}
	u := must(k.Next(after(100)))
	require.NoError(t, k.Observe(u, after(100), true))
	before := must(k.MarshalBinary())
	require.NoError(t, k.RecordChanges(u, time.Time{}, after(99), []time.Time{after(98)}))
	require.NoError(t, k.RecordChanges(u, after(90), after(99), []time.Time{after(98)}))
	require.Equal(t, before, must(k.MarshalBinary()))
}

// Pages that come and go with what is known of them leave the prior of all pages as it is.
func TestImportsLeaveThePrior(t *testing.T) {
	t.Parallel()
	const n = 200
	k := NewKeyed[string](must(NewRateFilter(0, RateFilterConfig{})))
	for i := range n {
		k.Add(fmt.Sprint(i))
	}
	polls := 0
	poll := func(times int) {
		for range times {
			at := after(float64(polls))
			require.NoError(t, k.Observe(must(k.Next(at)), at, polls%3 == 0))
			polls++
		}
	}
	median := func() float64 {
		k.Add("new")
		defer func() { require.NoError(t, k.Remove("new")) }()
		var rate RateEstimate
		require.NoError(t, With(k, func(f *RateFilter, page func(string) (int, error)) error {
			rate = must(f.Rate(must(page("new"))))
			return nil
		}))
		return rate.Median
	}
	poll(20 * n)
	before := median()
	row := must(k.Export("0"))
	for range 2000 {
		require.NoError(t, k.Import("guest", row))
		require.NoError(t, k.Remove("guest"))
	}
	poll(n)
	require.InEpsilon(t, before, median(), 0.2)
}

// A crawl that begins with the rows of another knows from its first polls which pages change, also
// at another budget.
func TestKeyedImportTeaches(t *testing.T) {
	t.Parallel()
	const n = 60
	changes := func(i int) float64 { return []float64{0.02, 0.02, 3}[i%3] } // per cycle of n
	run := func(k *Keyed[string], from, to int, step float64) (busy int) {
		rng := rand.New(rand.NewPCG(1, 1))
		for i := from; i < to; i++ {
			at := after(float64(i) * step)
			u := must(k.Next(at))
			var id, host int
			_, err := fmt.Sscanf(u, "https://host%d.test/page/%d", &host, &id)
			require.NoError(t, err)
			if id%3 == 2 {
				busy++
			}
			require.NoError(t, k.Observe(u, at, rng.Float64() < -math.Expm1(-changes(id))))
		}
		return busy
	}
	k := keyed(must(NewRateFilter(0, RateFilterConfig{})), n)
	run(k, 0, 40*n, 1)
	for _, step := range []float64{1, 5, 0.3} {
		from := int(41 * n / step)
		taught, fresh := NewKeyed[string](must(NewRateFilter(0, RateFilterConfig{}))), keyed(must(NewRateFilter(0, RateFilterConfig{})), n)
		for u := range k.All() {
			require.NoError(t, taught.Import(u, must(k.Export(u))))
		}
		knows, guesses := run(taught, from, from+2*n, step), run(fresh, from, from+2*n, step)
		t.Logf("step %v: %d of %d polls at busy pages; without the rows %d", step, knows, 2*n, guesses)
		require.Greater(t, knows, guesses+10)
	}
}

// Workers share a Keyed; run it with -race.
func TestKeyedConcurrently(t *testing.T) {
	t.Parallel()
	k := keyed(must(NewRateFilter(0, RateFilterConfig{})), 200)
	var workers sync.WaitGroup
	polls := make([]int, 8)
	for w := range polls {
		workers.Go(func() {
			for i := range 500 {
				now := noon.Add(time.Duration(i) * time.Second)
				u, err := k.Next(now)
				if err != nil {
					panic(err)
				}
				if err := k.Observe(u, now, i%5 == 0); err != nil && !errors.Is(err, ErrUnknown) {
					panic(err) // another may have removed it
				}
				polls[w]++
				switch i % 100 {
				case 7:
					k.Add(fmt.Sprint(w, i))
				case 17:
					must(k.MarshalBinary())
				case 27:
					for u := range k.All() {
						if u == fmt.Sprint(w, i-20) {
							_ = k.Remove(u)
						}
					}
				}
			}
		})
	}
	workers.Wait()
	require.Equal(t, slices.Repeat([]int{500}, 8), polls)
	require.Equal(t, 200, k.Len())
}

// A poll allocates nothing.
func TestKeyedDoesNotAllocate(t *testing.T) {
	k := keyed(must(NewRateFilter(0, RateFilterConfig{})), 100)
	now := noon
	poll := func() {
		now = now.Add(time.Second)
		u, err := k.Next(now)
		if err != nil {
			t.Fatal(err)
		}
		if err := k.Observe(u, now, len(u)%2 == 0); err != nil {
			t.Fatal(err)
		}
	}
	for range 2000 {
		poll()
	}
	require.Zero(t, testing.AllocsPerRun(1000, poll))
}

// The bounds that the documentation states.
const leastKeyedBytes, mostKeyedBytes = 50, 80

func TestKeyedMemory(t *testing.T) {
	for _, n := range []int{1e5, 120e3, 150e3} {
		urls := make([]string, n)
		for i := range urls {
			urls[i] = url(i)
		}
		perPage := heapOf(func() any {
			k := NewKeyed[string](&idle{Learner: must(NewAdaptive(0, AdaptiveConfig{}))})
			for _, u := range urls {
				k.Add(u)
			}
			return k
		}) / float64(n)
		runtime.KeepAlive(urls)
		t.Logf("%d pages: %.1f bytes a page", n, perPage)
		require.True(t, perPage > leastKeyedBytes && perPage < mostKeyedBytes, "%v bytes a page", perPage)
	}
}

// An idle learner takes no memory for its pages.
type idle struct {
	Learner
	n int
}

func (l *idle) Add() int { l.n++; return l.n - 1 }
func (l *idle) Len() int { return l.n }

// BenchmarkKeyed measures an ask and its answer over a million URLs, and how many times more that
// takes than it takes the learner alone.
func BenchmarkKeyed(b *testing.B) {
	n := 1_000_000
	if testing.Short() {
		n = 10_000
	}
	k := NewKeyed[string](new(RateFilter))
	k.learner = warm(n)
	for page := range n {
		u := url(page)
		k.pages[u], k.keys = page, append(k.keys, u)
	}
	bare := warm(n)
	const polls = 20_000
	var inside, outside time.Duration
	at := 0.0
	lucky := func(at float64) bool { return mix64(uint64(at))%5 == 0 }
	for b.Loop() {
		start := time.Now()
		for i := range polls {
			now := at + float64(i)
			page, err := bare.Next(now)
			if err != nil {
				b.Fatal(err)
			}
			if err := bare.Observe(page, now, lucky(now)); err != nil {
				b.Fatal(err)
			}
		}
		inside += time.Since(start)
		start = time.Now()
		for i := range polls {
			now := at + float64(i)
			u, err := k.Next(time.Unix(int64(now), 0))
			if err != nil {
				b.Fatal(err)
			}
			if err := k.Observe(u, time.Unix(int64(now), 0), lucky(now)); err != nil {
				b.Fatal(err)
			}
		}
		outside += time.Since(start)
		at += polls
	}
	b.ReportMetric(float64(outside.Nanoseconds())/float64(b.N*polls), "ns/poll")
	b.ReportMetric(outside.Seconds()/inside.Seconds(), "ratio")
}
