package partition

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Any sequence of calls against a model of what exists and what was asked; loads agree
// with the sites, and a restored copy goes on as the original does. (One function, as the
// actions share the model.)
func assignerProperty(t *rapid.T) {
	arms := rapid.IntRange(1, 3).Draw(t, "arms")
	sites := rapid.IntRange(0, 4).Draw(t, "sites")
	cfg := AssignerConfig{Threshold: rapid.SampledFrom([]float64{1, 10, math.Inf(1)}).Draw(t, "threshold"),
		Explore: rapid.SampledFrom([]float64{0, 0.5, 1}).Draw(t, "explore")}
	for range arms {
		cfg.Capacity = append(cfg.Capacity, rapid.SampledFrom([]float64{1, 20, math.Inf(1)}).Draw(t, "capacity"))
	}
	a, err := NewAssigner(arms, sites, cfg, rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	require.NoError(t, err)
	asked := map[int]int{} // site to the arm said, or -1
	armIDs := map[int]bool{}
	for i := range sites {
		asked[i] = -1
	}
	for j := range arms {
		armIDs[j] = true
	}
	site := func(t *rapid.T) (int, bool) {
		ids := []int{-1, 1 << 20}
		for id := range asked {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		id := rapid.SampledFrom(ids).Draw(t, "site")
		_, ok := asked[id]
		return id, ok
	}
	arm := func(t *rapid.T) (int, bool) {
		ids := []int{-1, 1 << 20}
		for id := range armIDs {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		id := rapid.SampledFrom(ids).Draw(t, "arm")
		return id, armIDs[id]
	}
	t.Repeat(map[string]func(*rapid.T){
		"ask": func(t *rapid.T) {
			id, ok := site(t)
			j, err := a.Next(id)
			if !ok {
				require.ErrorIs(t, err, ErrUnknown)
				return
			}
			require.NoError(t, err)
			require.True(t, armIDs[j])
			if asked[id] >= 0 {
				require.Equal(t, asked[id], j, "asked again before the answer")
			}
			asked[id] = j
		},
		"give back": func(t *rapid.T) {
			id, ok := site(t)
			err := a.GiveBack(id)
			switch {
			case !ok:
				require.ErrorIs(t, err, ErrUnknown)
			case asked[id] < 0:
				require.ErrorIs(t, err, ErrNotAsked)
			default:
				require.NoError(t, err)
				asked[id] = -1
			}
		},
		"observe": func(t *rapid.T) {
			id, ok := site(t)
			d := rapid.SampledFrom([]float64{0, 1, 1.5, 7, 1000, -1, math.NaN(), math.Inf(1), 2 * longest}).Draw(t, "duration")
			before, err := a.MarshalBinary()
			require.NoError(t, err)
			err = a.Observe(id, d)
			switch {
			case !ok:
				require.ErrorIs(t, err, ErrUnknown)
			case !(d >= 0 && d <= longest):
				require.ErrorIs(t, err, ErrDuration)
			case asked[id] < 0:
				require.ErrorIs(t, err, ErrNotAsked)
			default:
				require.NoError(t, err)
				asked[id] = -1
				return
			}
			after, err := a.MarshalBinary()
			require.NoError(t, err)
			require.Equal(t, before, after, "an error changes nothing")
		},
		"add": func(t *rapid.T) {
			id := a.Add()
			_, ok := asked[id]
			require.False(t, ok)
			asked[id] = -1
		},
		"remove": func(t *rapid.T) {
			id, ok := site(t)
			require.Equal(t, ok, a.Remove(id) == nil)
			delete(asked, id)
		},
		"weigh": func(t *rapid.T) {
			id, ok := site(t)
			require.Equal(t, ok, a.SetWeight(id, rapid.SampledFrom([]float64{0, 1, 5}).Draw(t, "weight")) == nil)
			if ok {
				require.ErrorIs(t, a.SetWeight(id, math.NaN()), ErrConfig)
			}
		},
		"add arm": func(t *rapid.T) {
			if len(armIDs) < 6 {
				j, err := a.AddArm(rapid.SampledFrom([]float64{3, math.Inf(1)}).Draw(t, "capacity"))
				require.NoError(t, err)
				require.False(t, armIDs[j])
				armIDs[j] = true
			}
			_, err := a.AddArm(0)
			require.ErrorIs(t, err, ErrConfig)
		},
		"remove arm": func(t *rapid.T) {
			j, ok := arm(t)
			err := a.RemoveArm(j)
			switch {
			case !ok:
				require.ErrorIs(t, err, ErrUnknown)
			case len(armIDs) == 1:
				require.ErrorIs(t, err, ErrConfig)
			default:
				require.NoError(t, err)
				delete(armIDs, j)
				for id, at := range asked {
					if at == j {
						asked[id] = -1
					}
				}
			}
		},
		"defer": func(t *rapid.T) {
			j, ok := arm(t)
			require.Equal(t, ok, a.Defer(j, rapid.IntRange(0, 3).Draw(t, "crawls")) == nil)
			if ok {
				require.ErrorIs(t, a.Defer(j, -1), ErrConfig)
			}
		},
		"set capacity": func(t *rapid.T) {
			j, ok := arm(t)
			require.Equal(t, ok, a.SetCapacity(j, rapid.SampledFrom([]float64{2, math.Inf(1)}).Draw(t, "capacity")) == nil)
		},
		"save": func(t *rapid.T) {
			b, err := a.MarshalBinary()
			require.NoError(t, err)
			var c Assigner
			require.NoError(t, c.UnmarshalBinary(b))
			// The original goes on for a while, and then the copy in its place.
			ids := make([]int, 0, len(asked))
			for id := range asked {
				ids = append(ids, id)
			}
			slices.Sort(ids)
			for range 3 {
				for _, id := range ids {
					want, err := a.Next(id)
					require.NoError(t, err)
					got, err := c.Next(id)
					require.NoError(t, err)
					require.Equal(t, want, got)
					require.NoError(t, a.Observe(id, float64(1+want)))
					require.NoError(t, c.Observe(id, float64(1+want)))
					asked[id] = -1
				}
			}
			want, err := a.MarshalBinary()
			require.NoError(t, err)
			got, err := c.MarshalBinary()
			require.NoError(t, err)
			require.Equal(t, want, got)
			*a = c
		},
		"": func(t *rapid.T) {
			require.Equal(t, len(asked), a.Len())
			require.ElementsMatch(t, slices.Collect(maps.Keys(asked)), slices.Collect(a.All()))
			require.ElementsMatch(t, slices.Collect(maps.Keys(armIDs)), slices.Collect(a.AllArms()))
			total := 0
			for j := range armIDs {
				n, time, err := a.Load(j)
				require.NoError(t, err)
				require.False(t, math.IsNaN(time) || math.IsInf(time, 0))
				total += n
			}
			placed := 0
			for _, at := range a.site.at {
				if at != nowhere {
					placed++
				}
			}
			require.Equal(t, placed, total)
		},
	})
}

func TestAssigner(t *testing.T) { t.Parallel(); rapid.Check(t, assignerProperty) }
func FuzzAssigner(f *testing.F) { f.Fuzz(rapid.MakeFuzz(assignerProperty)) }
