package knapsack

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/ablation"
)

// A host does not answer for some cycles. Long waits of its pages are spread by a third either way, so that they are
// not all tried in the same cycle, and the first is found within two cycles of the end. From the first of its m = 100
// pages on that is tried after the end, the number of those that are tried doubles, and all are worth more than any
// other page, as they are the oldest. So all are found within another m polls, a fifth of a cycle, and half as much
// is enough for what comes between them. Without that some are found many cycles later.
func TestHostThatRecoversIsFound(t *testing.T) {
	t.Parallel()
	const n, hosts = 500, 5
	for _, grouped := range []bool{false, true} {
		for _, gone := range []float64{4, 15, 40} { // cycles
			if testing.Short() && gone != 15 {
				continue
			}
			for _, without := range []ablation.Parts{0, ablation.Hearten} {
				f := must(NewRateFilter(n, RateFilterConfig{Objective: Age}))
				f.without = without
				if grouped {
					for range hosts {
						must(f.AddGroup(GroupConfig{}))
					}
					for page := range n {
						require.NoError(t, f.SetGroup(page, page%hosts))
					}
				}
				back, found, failed := 10+gone, make([]float64, n), 0
				for k := 0; slices.Min(found) == 0; k++ {
					now := float64(k) / n
					page := must(f.Next(now))
					if page%hosts == 0 && now > 10 && now < back {
						require.NoError(t, f.GiveBack(page, now))
						failed++
						continue
					}
					switch {
					case page%hosts > 0:
						found[page] = math.Inf(1)
					case now >= back && found[page] == 0:
						found[page] = now
					}
					require.NoError(t, f.Observe(page, now, page%3 == 0))
				}
				found = slices.DeleteFunc(found, func(at float64) bool { return math.IsInf(at, 1) })
				first, last := slices.Min(found), slices.Max(found)
				t.Logf("groups %v, gone for %v cycles: the first is found after %.2f, the last %.2f later, with %d failures; without %b",
					grouped, gone, first-back, last-first, failed, without)
				require.Less(t, first-back, 2.)
				if without == 0 {
					require.Less(t, last-first, 1.5*float64(n/hosts)/n)
				} else {
					require.Greater(t, last-first, 1., "there is something to gain")
				}
			}
		}
	}
}

// A trouble is what polls fail of.
type trouble struct {
	outage     float64 // a fifth of all pages fail for so many cycles
	gone, loss float64 // parts of the pages that never answer, and of the polls that fail
	flap       float64 // part of the pages that fail for 3 to 5 cycles and answer for as long, in turn
	groups     bool    // the fifths are groups
}

// untroubled is how many cycles there are before the outage, and how many count after it.
const untroubled = 15

func (x trouble) fails(page int, now float64, rng *rand.Rand) bool {
	const golden = math.Phi - 1
	lost, kind := rng.Float64() < x.loss, math.Mod(float64(page+1)*golden, 1)
	period := 6 + 4*math.Mod(float64(page)*golden*golden, 1)
	return lost || page%5 == 0 && now >= untroubled && now < untroubled+x.outage || kind < x.gone ||
		kind < x.gone+x.flap && math.Mod(now+float64(page), period) < period/2
}

// poll has n pages polled, whose rates are log-normal and of mean 1, and returns from the outage on how stale copies
// are, how old, and for how long changes wait, in the mean over the pages that there are; and the part of the polls
// that failed.
func (x trouble) poll(t *testing.T, s Learner, n int, seed uint64) (stale, age, delay, failed float64) {
	rng := rand.New(rand.NewPCG(seed, 1))
	webs, rates, next, unseen := make([]*rand.Rand, n), make([]float64, n), make([]float64, n), make([][]float64, n)
	sum := 0.0
	for p := range n {
		webs[p] = rand.New(rand.NewPCG(seed, uint64(p)+2))
		rates[p] = math.Exp(1.5 * webs[p].NormFloat64())
		sum += rates[p] / float64(n)
	}
	for p := range n {
		rates[p] /= sum
		next[p] = webs[p].ExpFloat64() / rates[p]
	}
	see := func(p int, now float64) (changed bool) {
		for ; next[p] <= now; next[p] += webs[p].ExpFloat64() / rates[p] {
			unseen[p] = append(unseen[p], next[p])
		}
		if changed = len(unseen[p]) > 0; changed && now > untroubled {
			first := unseen[p][0]
			counted := max(first, untroubled)
			stale += now - counted
			age += ((now-first)*(now-first) - (counted-first)*(counted-first)) / 2
			for _, at := range unseen[p] {
				delay += now - max(at, untroubled)
			}
		}
		unseen[p] = unseen[p][:0]
		return changed
	}
	end := 2*untroubled + x.outage
	for k := range int(end * float64(n)) {
		now := float64(k) / float64(n)
		page, err := s.Next(now)
		switch {
		case errors.Is(err, ErrNoPage):
		case x.fails(page, now, rng):
			require.NoError(t, s.GiveBack(page, now))
			failed++
		default:
			require.NoError(t, s.Observe(page, now, see(page, now)))
		}
	}
	for p := range n {
		if never := (trouble{gone: x.gone}); !never.fails(p, 0, rng) {
			see(p, end)
		}
	}
	return stale, age, delay, failed / end / float64(n)
}

// What polls that fail cost, compared with polls in turn. After an outage of a fifth of the pages the filter is
// better under each objective, as one page that answers has others tried. What it does for that costs nothing
// where pages are gone for good, come and go on their own, or polls fail at random: not more than 2 %, or than
// twice the standard error. With -sweep it takes minutes, and prints the table of RESULTS.md.
func TestOutages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	const n = 120
	seeds := uint64(4)
	if *sweep {
		seeds = 6
	}
	for _, x := range []trouble{
		{outage: 3}, {outage: 3, groups: true}, {outage: 15}, {outage: 15, groups: true}, {outage: 50}, {outage: 50, groups: true},
		{outage: 50, gone: .3}, {outage: 50, gone: .3, groups: true},
		{gone: .1}, {gone: .3}, {loss: .1}, {loss: .5}, {loss: .5, groups: true}, {loss: .1, gone: .3}, {flap: .3}, {flap: .1, gone: .3},
	} {
		if x.outage > 15 && !*sweep {
			continue
		}
		for _, o := range []Objective{Freshness, Age, Delay} {
			var ratio, before, gain, failed, failedBefore []float64
			for seed := range seeds {
				measure := func(s Learner) (cost, failed float64) {
					stale, age, delay, failed := x.poll(t, s, n, seed)
					return map[Objective]float64{Freshness: stale, Age: age, Delay: delay}[o], failed
				}
				filter := func(without ablation.Parts) *RateFilter {
					f := must(NewRateFilter(n, RateFilterConfig{Objective: o}))
					f.without = without
					for g := range 5 {
						if x.groups {
							must(f.AddGroup(GroupConfig{}))
							for page := g; page < n; page += 5 {
								require.NoError(t, f.SetGroup(page, g))
							}
						}
					}
					return f
				}
				inTurn, _ := measure(must(NewFixed(slices.Repeat([]float64{1}, n), Even, nil)))
				cost, lost := measure(filter(0))
				costBefore, lostBefore := measure(filter(ablation.Hearten))
				ratio, before, gain = append(ratio, cost/inTurn), append(before, costBefore/inTurn), append(gain, math.Log(cost/costBefore))
				failed, failedBefore = append(failed, 100*lost), append(failedBefore, 100*lostBefore)
			}
			r, rs := meanAndSpread(ratio)
			b, bs := meanAndSpread(before)
			g, gs := meanAndSpread(gain)
			l, _ := meanAndSpread(failed)
			lb, _ := meanAndSpread(failedBefore)
			t.Logf("%+v %-9v %.2f ± %.2f of polls in turn, %.2f ± %.2f without: %.3f ± %.3f; %.1f %% of the polls fail, %.1f %%",
				x, o, r, rs, b, bs, math.Exp(g), gs, l, lb)
			if x.outage > 3 || x.outage > 0 && o != Freshness { // a short one costs little freshness
				require.Less(t, g, 0.)
			} else {
				require.Less(t, g, max(2*gs, .02))
			}
		}
	}
}

// meanAndSpread returns the mean of some numbers and its standard error.
func meanAndSpread(all []float64) (mean, spread float64) {
	sum, square := 0.0, 0.0
	for _, x := range all {
		sum, square = sum+x, square+x*x
	}
	n := float64(len(all))
	return sum / n, math.Sqrt(max(0, square/n-sum/n*sum/n) / (n - 1))
}

// heartenMachine checks what an answer does to the pages that fail beside it: two at most of its own group, which
// failed about as often, may be polled, and nothing else changes. What is held is what the limits say, whatever
// pages come, go, move, fail and answer.
func heartenMachine(t *rapid.T) {
	f := must(NewRateFilter(40, RateFilterConfig{Objective: Age}))
	for range 2 {
		must(f.AddGroup(GroupConfig{}))
	}
	now := 0.0
	var asked []int
	anyPage := func(t *rapid.T) int {
		all := slices.Collect(f.All())
		return all[rapid.IntRange(0, len(all)-1).Draw(t, "page")]
	}
	type wait struct{ at, delay float64 }
	waits := func() map[int]wait {
		all := map[int]wait{}
		for page := range f.All() {
			if s := uint32(Slot(page)); f.limits.Failing(s) {
				all[page] = wait{f.limits.Earliest(s, 0), f.limits.Delay(s)}
			}
		}
		return all
	}
	answer := func(t *rapid.T, page int, tell func() error) {
		s := uint32(Slot(page))
		group, delay, before := f.queue.Group(s), f.limits.Delay(s), waits()
		require.NoError(t, tell())
		delete(before, page)
		after, changed := waits(), 0
		require.Len(t, after, len(before))
		for other, b := range before {
			a := after[other]
			if a == b {
				continue
			}
			changed++
			require.Equal(t, group, f.queue.Group(uint32(Slot(other))), "another group")
			require.Greater(t, b.at, f.now)
			require.Equal(t, b.delay/2, a.delay)
			require.LessOrEqual(t, b.delay, alikeFailing*delay)
		}
		require.LessOrEqual(t, changed, heartened)
	}
	t.Repeat(map[string]func(*rapid.T){
		"next": func(t *rapid.T) {
			for range rapid.IntRange(1, 40).Draw(t, "polls") {
				now++
				page, err := f.Next(now)
				if err != nil {
					require.ErrorIs(t, err, ErrNoPage)
					continue
				}
				switch rapid.IntRange(0, 9).Draw(t, "what") {
				case 0, 1, 2, 3, 4, 5:
					require.NoError(t, f.GiveBack(page, now))
				case 6:
					asked = append(asked, page)
				default:
					answer(t, page, func() error { return f.Observe(page, now, true) })
				}
			}
		},
		"answer": func(t *rapid.T) {
			if len(asked) == 0 {
				return
			}
			page := asked[0]
			asked = asked[1:]
			answer(t, page, func() error { return f.Observe(page, now, false) })
		},
		"record": func(t *rapid.T) {
			page := anyPage(t)
			answer(t, page, func() error { return f.Record(page, now, true) })
		},
		"move":  func(t *rapid.T) { require.NoError(t, f.SetGroup(anyPage(t), rapid.IntRange(-1, 1).Draw(t, "to"))) },
		"defer": func(t *rapid.T) { require.NoError(t, f.Defer(anyPage(t), now+30)) },
		"add":   func(t *rapid.T) { f.Add() },
		"remove": func(t *rapid.T) {
			if page := anyPage(t); f.Len() > 1 {
				require.NoError(t, f.Remove(page))
				asked = slices.DeleteFunc(asked, func(p int) bool { return p == page })
			}
		},
		"save": func(t *rapid.T) {
			before := saved(t, f)
			f = new(RateFilter)
			require.NoError(t, f.UnmarshalBinary(before))
			require.True(t, bytes.Equal(before, saved(t, f)))
		},
		"": func(t *rapid.T) {
			held := map[uint32]bool{}
			for g := -1; g < 2; g++ {
				for _, slot := range f.queue.HeldOf(uint32(g)) {
					require.Equal(t, uint32(g), f.queue.Group(slot))
					held[slot] = true
				}
			}
			for page := range f.All() {
				s := uint32(Slot(page))
				require.Equal(t, f.queue.Held(s), held[s])
				if !f.inFlight(Slot(page)) {
					require.Equal(t, f.ownFree(s) > f.now, held[s], "page %d may be polled from %v on", page, f.ownFree(s))
				}
				require.True(t, f.limits.Failing(s) || f.limits.Delay(s) == 0)
			}
		},
	})
}

func TestHearten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, heartenMachine)
}

// Pages that have failed far more often than the one that answers are left alone, and so are those of other groups.
func TestGonePagesAreLeftAlone(t *testing.T) {
	t.Parallel()
	const n = 20
	f := must(NewRateFilter(n, RateFilterConfig{Objective: Age}))
	group := must(f.AddGroup(GroupConfig{}))
	for page := range n / 2 {
		require.NoError(t, f.SetGroup(page, group))
	}
	gone, polls := []int{0, 1, 2, n - 2, n - 1}, 0
	for k := range 2000 {
		now := float64(k)
		page, err := f.Next(now)
		if err != nil {
			continue
		}
		switch {
		case slices.Contains(gone, page):
			require.NoError(t, f.GiveBack(page, now))
			if k >= 1000 {
				polls++
			}
		case k%9 == 0:
			require.NoError(t, f.GiveBack(page, now))
		default:
			require.NoError(t, f.Observe(page, now, true))
		}
	}
	most := len(gone) * (1 + 1000/(longestWait*n))
	t.Logf("%d polls of pages that are gone, %d at most without news of others", polls, most)
	require.LessOrEqual(t, polls, most)
}

// Where pages are gone after two cycles, and removed four cycles later, a third of the polls of pages that had answered
// fail. That is no chance, and the waits of those that are gone become longer all the same. First copies, which live.Tell
// gives back, are no failures of chance either. With both counted, .9 of the polls were of pages that were gone, and a
// quarter as many changes were found.
func TestPagesThatAreGoneSoon(t *testing.T) {
	t.Parallel()
	polls, gone, found, loss := pagesThatAreGone(t, 4, 20, 50)
	require.Less(t, gone, .8*polls)
	require.Greater(t, found, .06*polls)
	require.Less(t, loss, .1)
}

// Of pages that are removed only when they wait for as long as any does the first failure does not count either: with
// it .04 of the polls seem to fail by chance, and .016 without.
func TestPagesThatAreGoneForLong(t *testing.T) {
	t.Parallel()
	_, _, _, loss := pagesThatAreGone(t, 20, 60, 120)
	require.Less(t, loss, .03)
}

// pagesThatAreGone polls pages that are gone after two cycles and removed after that many more. It counts polls between
// two cycles, those of pages that are gone and those that find a change, and returns the part that fails by chance, as
// the filter estimates it.
func pagesThatAreGone(t *testing.T, stays, from, end float64) (polls, gone, found, loss float64) {
	const n, life = 400, 2
	type page struct{ change, rate, dies float64 }
	rng := rand.New(rand.NewPCG(1, 2))
	f := must(NewRateFilter(0, RateFilterConfig{}))
	pages, seen := map[int]*page{}, map[int]bool{}
	add := func(now float64) {
		p := &page{rate: math.Exp(rng.NormFloat64()), dies: now + life*rng.ExpFloat64()}
		p.change = now + rng.ExpFloat64()/p.rate
		pages[f.Add()] = p
	}
	for range n {
		add(0)
	}
	for k := range int(end) * n {
		now := float64(k) / n
		for _, id := range slices.Collect(f.All()) {
			if k%n == 0 && pages[id].dies+stays < now {
				require.NoError(t, f.Remove(id))
				add(now)
			}
		}
		id, err := f.Next(now)
		if err != nil {
			require.ErrorIs(t, err, ErrNoPage)
			continue
		}
		p := pages[id]
		counts, dead, changed := now >= from, p.dies < now, p.change <= now
		if changed {
			p.change = now + rng.ExpFloat64()/p.rate
		}
		if counts {
			polls++
		}
		switch {
		case dead || !seen[id]:
			require.NoError(t, f.GiveBack(id, now))
			if dead && counts {
				gone++
			}
			seen[id] = true
		default:
			require.NoError(t, f.Observe(id, now, changed))
			if changed && counts {
				found++
			}
		}
	}
	t.Logf("%.2f of the polls are of pages that are gone, %.3f find a change; by chance %.3f fail", gone/polls, found/polls, f.tally.loss)
	return polls, gone, found, f.tally.loss
}
