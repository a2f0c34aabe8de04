package schedule

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// How many short sites clients do first does not depend on the unit of time. The client that has the long
// site does as many as the rival that does the most.
func TestProbesInAnyUnit(t *testing.T) {
	t.Parallel()
	var want []int
	for _, unit := range []float64{1, 1e-6, 1e6} {
		p := must(NewUniform(append([]float64{100}, slices.Repeat([]float64{1}, 20)...), []float64{unit, 1.01 * unit, 1.4 * unit, 9 * unit}))
		plan := Plan{0}
		for z := 1; z < p.Sites(); z++ {
			plan = append(plan, 1+z%3)
		}
		d := must(NewDispatcher(p, plan, DispatcherConfig{Spread: .5}))
		var probes []int
		for j := range d.client {
			probes = append(probes, d.client[j].probes)
		}
		t.Log(probes)
		require.Equal(t, probes[0], slices.Max(probes[1:]))
		require.Zero(t, probes[3], "too slow to be the rival of any")
		if want == nil {
			want = probes
			require.Greater(t, probes[0], 2)
		}
		require.Equal(t, want, probes)
	}
}

// A client exchanges the longest of its sites for that of another one if the later of these then ends
// earlier: in the best way, whatever the unit of time. What waits for each is in order again.
func TestExchange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		sizes  []int
		times  []float64
		plan   Plan
		client int
		want   [][]int32
	}{
		{[]int{100, 10}, []float64{2, 1}, Plan{0, 1}, 0, [][]int32{{1}, {0}}}, // 200 and 10, or 20 and 100
		{[]int{100, 10}, []float64{2, 1}, Plan{0, 1}, 1, [][]int32{{1}, {0}}},
		{[]int{100, 10}, []float64{1, 2}, Plan{0, 1}, 0, [][]int32{{0}, {1}}},
		{[]int{100, 10}, []float64{1, 2}, Plan{0, 1}, 1, [][]int32{{0}, {1}}},
		{[]int{10, 10}, []float64{1, 2}, Plan{0, 1}, 0, [][]int32{{0}, {1}}},
		{[]int{100, 10}, []float64{2e-6, 1e-6}, Plan{0, 1}, 0, [][]int32{{1}, {0}}},
		{[]int{100, 60, 50, 10, 9, 8}, []float64{3, 2, 1, 1}, Plan{0, 0, 2, 1, 1, 2}, 0, [][]int32{{1, 2}, {3, 4}, {0, 5}, nil}},
	} {
		d := must(NewDispatcher(must(NewUniform(c.sizes, c.times)), c.plan, DispatcherConfig{}))
		d.now = 0
		d.exchange(c.client)
		require.Equal(t, c.want, d.queue, "%+v", c)
	}
}

// A site never comes into the batch of a client that gave it back.
func TestExchangeOfSitesGivenBack(t *testing.T) {
	t.Parallel()
	for client, refused := range [][2]int32{{1, 0}, {0, 1}} { // the one that gave back the other's site, and that site
		d := must(NewDispatcher(must(NewUniform([]int{100, 10}, []float64{2, 1})), Plan{0, 1}, DispatcherConfig{}))
		d.now = 0
		d.refused[refused] = struct{}{}
		d.exchange(client)
		require.Equal(t, [][]int32{{0}, {1}}, d.queue)
	}
}

// Static clients do no sites of others, also if errors are expected to be large.
func TestStaticClientsDoNoProbes(t *testing.T) {
	t.Parallel()
	sizes := append([]int{100}, slices.Repeat([]int{1}, 20)...)
	p := must(NewIdentical(sizes, 3))
	plan := LPT(p)
	sim := must(Simulate(must(NewDispatcher(p, plan, DispatcherConfig{Static: true, Spread: .5})), World{}))
	require.Len(t, sim.Spans, len(sizes))
	for _, s := range sim.Spans {
		require.Equal(t, plan[s.Site], s.Client)
	}
	require.Equal(t, 100., sim.Makespan)
}

// A site leaves a share of the pace that was known before: exp(−1/8) if it is a typical one, the less the
// longer it is, but half at least, whatever the unit of time.
func TestPaceForgets(t *testing.T) {
	t.Parallel()
	sizes := append([]int{100, 100}, slices.Repeat([]int{1}, 18)...)
	const typical = 218. / 20
	for _, unit := range []float64{1, 1e-6} {
		d := must(NewDispatcher(must(NewUniform(sizes, []float64{unit})), make(Plan, len(sizes)), DispatcherConfig{}))
		planned := 0.
		for k, size := range sizes {
			keep := max(.5, math.Exp(-float64(size)/(8*typical)))
			planned = planned*keep + float64(size)
			z := must(d.Next(0, unit*float64(1000*k)))
			require.Equal(t, size, sizes[z])
			_, _, err := d.Observe(0, z, unit*float64(1000*k+2*size))
			require.NoError(t, err)
			require.InEpsilon(t, unit*planned, d.client[0].pace.planned, 1e-9)
			require.InEpsilon(t, unit*2*planned, d.client[0].pace.actual, 1e-9)
		}
	}
}
