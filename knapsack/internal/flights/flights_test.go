package flights

import (
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// A table against a map, with slots that crowd into few cells.
func TestTable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		table, want := Make(), map[int]float64{}
		require.False(t, table.Zero())
		slots := rapid.SliceOfN(rapid.IntRange(0, math.MaxUint32), 1, 40).Draw(t, "slots")
		some := rapid.SampledFrom(slots)
		now := 0.0
		t.Repeat(map[string]func(*rapid.T){
			"": func(t *rapid.T) {
				require.Equal(t, len(want), table.Len())
				require.LessOrEqual(t, 2*table.Len(), len(table.cells))
				var order []int
				for slot, at := range table.All() {
					require.Equal(t, want[slot], at)
					order = append(order, slot)
				}
				require.Equal(t, slices.Sorted(maps.Keys(want)), order)
				for _, slot := range slots {
					at, ok := table.Get(slot)
					wantAt, wantOK := want[slot]
					require.Equal(t, wantOK, ok)
					require.Equal(t, wantAt, at)
				}
			},
			"put": func(t *rapid.T) {
				slot := some.Draw(t, "slot")
				now++
				table.Put(slot, now)
				want[slot] = now
			},
			"delete": func(t *rapid.T) {
				slot := some.Draw(t, "slot")
				_, ok := want[slot]
				require.Equal(t, ok, table.Delete(slot))
				delete(want, slot)
			},
		})
	})
	require.True(t, new(Table).Zero())
	for range new(Table).All() {
		t.Fatal("a flight of the zero value")
	}
}

// However many pages are in flight, a search looks at few cells. The slots are those of a crawl: one
// after the other, or every so many.
func TestShortSearches(t *testing.T) {
	t.Parallel()
	for _, step := range []int{1, 3, 64, 1000, 4096, 1 << 16} {
		const n = 10_000
		table, looked := Make(), 0
		for k := range n {
			table.Put(k*step, 1)
		}
		for k := range n {
			slot := uint32(k * step)
			looked += 1 + (table.find(slot)-table.home(slot))&(len(table.cells)-1)
		}
		require.Less(t, looked, 2*n, "every %d-th slot", step)
	}
}
