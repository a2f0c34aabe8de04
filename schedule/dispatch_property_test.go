package schedule

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestDispatcherStateMachine lets clients ask, answer, give back, be removed and restored
// in any order, saved and restored at any time: each site is answered first exactly once,
// none disappears, and no client holds two.
func TestDispatcherStateMachine(t *testing.T) {
	t.Parallel()
	rapid.Check(t, propDispatcher)
}

func FuzzDispatcher(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propDispatcher)) }

// propDispatcher is complex only in sum: each action is a short function, and all share the model.
func propDispatcher(t *rapid.T) {
	p := drawForbidding(t, 9)
	cfg := DispatcherConfig{Static: rapid.Bool().Draw(t, "static"), Copies: rapid.IntRange(0, 3).Draw(t, "copies"),
		Spread: rapid.SampledFrom([]float64{0, .1, 1, 10}).Draw(t, "spread"), Patience: rapid.SampledFrom([]float64{0, 1, -1}).Draw(t, "patience")}
	d := must(NewDispatcher(p, LPT(p), cfg))
	if rapid.Bool().Draw(t, "pull") {
		d = must(NewPullDispatcher(p, p.LongestFirst(), cfg))
	}
	now := 0.0
	holds, gone, done := make([]int, p.m), make([]bool, p.m), make([]bool, p.n)
	for j := range holds {
		holds[j] = None
	}
	refused := map[[2]int]bool{}
	client := func(t *rapid.T) int {
		now += rapid.Float64Range(0, 3).Draw(t, "wait")
		return rapid.IntRange(0, len(holds)-1).Draw(t, "client")
	}
	times := func(t *rapid.T, pairs int) []float64 {
		if !p.unrelated {
			pairs = 1
		}
		return rapid.SliceOfN(rapid.Float64Range(.5, 9), pairs, pairs).Draw(t, "times")
	}
	t.Repeat(map[string]func(*rapid.T){
		"next": func(t *rapid.T) {
			j := client(t)
			z, err := d.Next(j, now)
			if gone[j] || holds[j] != None {
				require.Error(t, err)
				return
			}
			require.NoError(t, err)
			if holds[j] = z; z != None {
				require.False(t, done[z])
				require.False(t, refused[[2]int{j, z}])
				require.False(t, math.IsInf(d.duration(int32(z), j), 1))
				return
			}
			for z := range done {
				if !d.cfg.Static && !refused[[2]int{j, z}] && !math.IsInf(d.duration(int32(z), j), 1) {
					require.False(t, d.waits[z], "site %d waits for client %d", z, j)
				}
			}
		},
		"observe": func(t *rapid.T) {
			j := client(t)
			first, void, err := d.Observe(j, holds[j], now)
			if holds[j] == None {
				require.ErrorIs(t, err, ErrUnknown)
				return
			}
			require.NoError(t, err)
			require.Equal(t, !done[holds[j]], first)
			for _, other := range void {
				require.Equal(t, holds[j], holds[other])
			}
			done[holds[j]], holds[j] = true, None
		},
		"give back": func(t *rapid.T) {
			j := client(t)
			err := d.GiveBack(j, now)
			if holds[j] == None {
				require.ErrorIs(t, err, ErrNotAsked)
				return
			}
			require.NoError(t, err)
			if !done[holds[j]] {
				refused[[2]int{j, holds[j]}] = true
			}
			holds[j] = None
		},
		"remove or restore": func(t *rapid.T) {
			j := client(t)
			if gone[j] {
				require.NoError(t, d.RestoreClient(j, now))
				gone[j] = false
				return
			}
			require.NoError(t, d.RemoveClient(j, now))
			gone[j], holds[j] = true, None
		},
		"add client": func(t *rapid.T) {
			if len(holds) > 6 {
				return
			}
			j, err := d.AddClient(times(t, len(done)), now)
			require.NoError(t, err)
			require.Equal(t, len(holds), j)
			holds, gone = append(holds, None), append(gone, false)
		},
		"add site": func(t *rapid.T) {
			z, err := d.AddSite(times(t, len(holds)), now)
			require.NoError(t, err)
			require.Equal(t, len(done), z)
			done = append(done, false)
		},
		"silent": func(t *rapid.T) {
			j := client(t)
			alarm := d.Alarm()
			before := slices.ContainsFunc(d.client, func(c clientState) bool { return c.silent })
			silent, err := d.Silent(now)
			require.NoError(t, err)
			require.Equal(t, before || alarm <= now, len(silent) > 0)
			for _, k := range silent {
				require.NotEqual(t, None, holds[k], "of %d clients, %d", j, k)
			}
		},
		"backwards": func(t *rapid.T) {
			if j := client(t); !math.IsInf(d.now, -1) {
				before := must(d.MarshalBinary())
				past := math.Nextafter(d.now, math.Inf(-1))
				_, err := d.Next(j, past)
				require.Error(t, err)
				_, _, err = d.Observe(j, 0, past)
				require.ErrorIs(t, err, ErrTime)
				_, err = d.AddSite(times(t, len(holds)), past)
				require.ErrorIs(t, err, ErrTime)
				_, err = d.AddClient(times(t, len(done)), past)
				require.ErrorIs(t, err, ErrTime)
				_, err = d.Silent(past)
				require.ErrorIs(t, err, ErrTime)
				require.ErrorIs(t, d.GiveBack(j, past), ErrTime)
				require.ErrorIs(t, d.RemoveClient(j, past), ErrTime)
				require.Equal(t, before, must(d.MarshalBinary()))
			}
		},
		"save": func(t *rapid.T) {
			data, err := d.MarshalBinary()
			require.NoError(t, err)
			fresh := must(NewPullDispatcher(p, nil, cfg))
			require.NoError(t, fresh.UnmarshalBinary(data))
			again, err := fresh.MarshalBinary()
			require.NoError(t, err)
			require.Equal(t, data, again)
			require.Error(t, fresh.UnmarshalBinary(data[:len(data)/2]))
			d = fresh
		},
		"": func(t *rapid.T) {
			open, copies := 0, map[int]int{}
			for _, ok := range done {
				if !ok {
					open++
				}
			}
			for j, z := range holds {
				if z != None && !done[z] && !d.client[j].silent {
					copies[z]++
					require.LessOrEqual(t, copies[z], max(1, d.cfg.Copies))
				}
			}
			require.Equal(t, open, d.Open())
			require.Equal(t, open, d.waiting+len(copies))
			waiting := d.pool.left
			for _, z := range d.pool.sites {
				require.True(t, z == None || d.waits[z])
			}
			for _, list := range d.lists() {
				for _, z := range *list {
					require.True(t, d.waits[z])
				}
				waiting += len(*list)
			}
			require.Equal(t, waiting, d.waiting)
			for j, queue := range d.queue {
				for _, z := range queue {
					require.True(t, d.may(j, z), "site %d waits for client %d", z, j)
				}
			}
			require.True(t, slices.IsSortedFunc(d.back, d.longer))
		},
	})
}

// replicateByPairs is replicate, with a look at all clients for each one.
func replicateByPairs(d *Dispatcher, client int) int32 {
	site, latest := int32(None), math.Inf(-1)
	for j, c := range d.client {
		if d.cfg.Copies < 2 || c.holds == None || c.silent || d.done[c.holds] || !d.may(client, c.holds) {
			continue
		}
		end, holders := d.ends(j), 0
		for i, o := range d.client {
			if o.holds == c.holds && !o.silent {
				end = min(end, d.ends(i))
				holders++
			}
		}
		if holders < d.cfg.Copies && end > latest {
			site, latest = c.holds, end
		}
	}
	return site
}
