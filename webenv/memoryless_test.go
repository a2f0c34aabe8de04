package webenv

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/webenv/internal/check"
)

// A page polled each gap g is found changed with probability 1−(1−u)^g under
// both slot laws. Under AtMostOnce the slots are those that end within the
// gap, and the page is fresh for min(G, g) slots, G geometric, on average
// (1−(1−u)^g)/u. As a Poisson process it is fresh for (1−e^(−λg))/λ.
func TestSlotLaws(t *testing.T) {
	t.Parallel()
	const polls = 40_000
	for _, u := range []float64{0.05, 0.3, 0.6} {
		for _, g := range []float64{1, 3, 10} {
			for _, law := range []SlotLaw{AtMostOnce, PoissonInSlot} {
				env, err := NewSlots([]float64{u}, law, 0, check.Source(1))
				require.NoError(t, err)
				var detected, fresh check.Sample
				for k := range polls {
					last := float64(k) * g
					since, changed := env.Poll(0, last+g)
					detected.AddBool(changed)
					if changed {
						require.True(t, since >= last && since <= last+g)
						fresh.Add(since - last)
					} else {
						fresh.Add(g)
					}
				}
				p := 1 - math.Pow(1-u, g)
				detected.RequireMean(t, p, "u %v, gap %v, law %v", u, g, law)
				if law == AtMostOnce {
					fresh.RequireMean(t, p/u, "u %v, gap %v, law %v", u, g, law)
				} else {
					fresh.RequireMean(t, -p/math.Log1p(-u), "u %v, gap %v, law %v", u, g, law)
				}
			}
		}
	}
}

func TestPoissonLaw(t *testing.T) {
	t.Parallel()
	const pages = 100_000
	const rate, gap = 0.7, 1.9
	env, err := NewPoisson(slices.Repeat([]float64{rate}, pages), check.Source(2))
	require.NoError(t, err)
	require.Equal(t, rate, env.Rate(5, 77))
	var detected, fresh check.Sample
	for i := range pages {
		since, changed := env.Poll(i, gap)
		detected.AddBool(changed)
		if !changed {
			since = gap
		}
		fresh.Add(since)
	}
	detected.RequireMean(t, 1-math.Exp(-rate*gap))
	fresh.RequireMean(t, (1-math.Exp(-rate*gap))/rate)
}

// With probabilities 0 and 1 the slots are deterministic, so that every answer
// can be compared with a list of changes: of shifts, of polls between the ends
// of slots and of several polls in a slot.
func propShift(t *rapid.T) {
	hot := rapid.SliceOfN(rapid.IntRange(0, 1), 1, 6).Draw(t, "hot")
	shift := rapid.IntRange(0, 4).Draw(t, "shift")
	u := make([]float64, len(hot))
	for i, h := range hot {
		u[i] = float64(h)
	}
	env, err := NewSlots(u, AtMostOnce, shift, check.Source(3))
	require.NoError(t, err)
	changes := func(page, slot int) bool {
		if shift > 0 {
			page += (slot - 1) / shift
		}
		return hot[page%len(hot)] == 1
	}
	last := make([]float64, len(hot))
	t.Repeat(map[string]func(*rapid.T){
		"poll": func(t *rapid.T) {
			page := rapid.IntRange(0, len(hot)-1).Draw(t, "page")
			now := last[page] + float64(rapid.IntRange(0, 40).Draw(t, "quarters"))/4
			want, found := 0.0, false
			for slot := int(math.Floor(last[page])) + 1; slot <= int(math.Floor(now)) && !found; slot++ {
				if changes(page, slot) {
					want, found = float64(slot), true
				}
			}
			since, changed := env.Poll(page, now)
			require.Equal(t, found, changed)
			require.Equal(t, want, since)
			last[page] = now
			rate := 0.0
			if changes(page, int(math.Floor(now))+1) {
				rate = math.Inf(1)
			}
			require.Equal(t, rate, env.Rate(page, now))
		},
	})
}

func TestShift(t *testing.T) { t.Parallel(); rapid.Check(t, propShift) }

func FuzzShift(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propShift)) }

// The law of a page that shifts between two polls: it stays unchanged with the
// product of the probabilities of the slots.
func TestShiftLaw(t *testing.T) {
	t.Parallel()
	const runs = 30_000
	u := []float64{0.1, 0.4, 0.02}
	for _, law := range []SlotLaw{AtMostOnce, PoissonInSlot} {
		env, err := NewSlots(u, law, 2, check.Source(4))
		require.NoError(t, err)
		var detected check.Sample
		for k := range runs {
			// Twelve slots are two rounds of the shift. The poll covers the
			// slots 2 to 7 of them: laws 0, 1, 1, 2, 2, 0 of page 0.
			env.Poll(0, float64(12*k+1))
			_, changed := env.Poll(0, float64(12*k+7))
			detected.AddBool(changed)
		}
		stay := (1 - u[0]) * (1 - u[1]) * (1 - u[1]) * (1 - u[2]) * (1 - u[2]) * (1 - u[0])
		detected.RequireMean(t, 1-stay, "law %v", law)
	}
}

func TestCertainPagesInPoissonSlots(t *testing.T) {
	t.Parallel()
	env, err := NewSlots([]float64{1, 0}, PoissonInSlot, 0, check.Source(5))
	require.NoError(t, err)
	since, changed := env.Poll(0, 0.5)
	require.True(t, changed)
	require.Equal(t, math.Nextafter(0, 1), since, "after the start")
	_, changed = env.Poll(0, 0.5)
	require.False(t, changed, "no time passed")
	since, changed = env.Poll(0, 1000)
	require.True(t, changed)
	require.Equal(t, math.Nextafter(0.5, 1), since, "after the previous poll")
	_, changed = env.Poll(1, 1e15)
	require.False(t, changed)
}

// Where no page ever changes, shifts take no time: here it would be years.
func TestShiftsOfPagesThatNeverChange(t *testing.T) {
	t.Parallel()
	env := must(NewSlots([]float64{0, 0}, AtMostOnce, 1, check.Source(1)))
	saved := must(env.MarshalBinary())
	restored := must(NewPoisson([]float64{1}, check.Source(1)))
	require.NoError(t, restored.UnmarshalBinary(saved))
	for _, e := range []Env{env, restored} {
		_, changed := e.Poll(0, 1e15)
		require.False(t, changed)
	}
}

func TestDomainLaws(t *testing.T) {
	t.Parallel()
	sites := []Site{{"com", 2}, {"net", 3}, {"edu", 0}, {"org", 2}, {"edu", 2}}
	fixed, err := DomainLaw(sites)
	require.NoError(t, err)
	require.Equal(t, []float64{0.3, 0.3, 0.25, 0.25, 0.25, 0.05, 0.05, 0.1, 0.1}, fixed)
	zipf, err := DomainZipfLaw(sites)
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{1, math.Pow(2, -0.75), 1, 1. / 2, 1. / 3, 1, 1. / 4, 1, 1 / math.Sqrt(8)}, zipf, 1e-15)

	_, err = DomainLaw([]Site{{"com", 1}, {"gov", 1}})
	require.ErrorIs(t, err, ErrConfig)
	require.EqualError(t, err, `webenv: setting out of range: site 1: domain "gov" is not com, net, edu or org`)
	for _, pages := range []int{-1, mostPages, math.MaxInt} {
		_, err = DomainZipfLaw([]Site{{"com", 1}, {"com", pages}})
		require.ErrorIs(t, err, ErrConfig)
	}
}

// The paper's 20 sites and the optimum that it prints for their Zipf laws: the
// total weight 111.56687609278475.
func TestDomainZipfLawOfThePaper(t *testing.T) {
	t.Parallel()
	var sites []Site
	for _, d := range []struct {
		domain string
		pages  []int
	}{
		{"com", []int{131, 91, 91, 87, 91, 46, 61, 71}},
		{"net", []int{74, 84, 62, 92, 89, 105}},
		{"edu", []int{75, 95, 105, 113}},
		{"org", []int{82, 93}},
	} {
		for _, n := range d.pages {
			sites = append(sites, Site{d.domain, n})
		}
	}
	law, err := DomainZipfLaw(sites)
	require.NoError(t, err)
	sum := 0.0
	for _, u := range law {
		sum += u
	}
	require.InDelta(t, 111.56687609278475, sum, 1e-9)
}

func TestLogNormalLaw(t *testing.T) {
	t.Parallel()
	var rate, log check.Sample
	for _, r := range LogNormalLaw(100_000, 3, 0.8, check.Source(6)) {
		rate.Add(r)
		log.Add(math.Log(r))
	}
	rate.RequireMean(t, 3)
	log.RequireMean(t, math.Log(3)-0.8*0.8/2)
	// The variance of a normal check.Sample has the standard error σ²·√(2/n).
	require.InDelta(t, 0.64, log.Variance(), check.Critical*0.64*math.Sqrt(2/log.N))
}

// Delays has the mean of what is drawn when a page is looked at all the time: of all changes in
// gaps, given the first one, under both laws and over shifts.
func TestMemorylessDelays(t *testing.T) {
	t.Parallel()
	const gap = 7
	gaps := 20_000
	if testing.Short() {
		gaps = 500
	}
	for _, law := range []SlotLaw{AtMostOnce, PoissonInSlot} {
		for _, shift := range []int{0, 3} {
			u := []float64{0.1, 0.4, 0.02}
			fine, err := NewSlots(u, law, shift, check.Source(1))
			require.NoError(t, err)
			coarse, err := NewSlots(u, law, shift, check.Source(2))
			require.NoError(t, err)
			var changes, delay check.Sample // the differences
			for k := range gaps {
				from, until := float64(k*gap), float64((k+1)*gap)
				var n, d float64
				for at := from; at < until; {
					at += 1.0 / 64 // two changes between are as good as none: λ/64
					if since, changed := fine.Poll(0, at); changed {
						n++
						d += until - since
					}
				}
				expected, expectedDelay := 0.0, 0.0
				if since, changed := coarse.Poll(0, until); changed {
					expected, expectedDelay = coarse.(delayer).Delays(0, since, until)
				}
				changes.Add(n - expected)
				delay.Add(d - expectedDelay)
			}
			changes.RequireMean(t, 0, "law %v, shift %v", law, shift)
			delay.RequireMean(t, 0, "law %v, shift %v", law, shift)
		}
	}
}
