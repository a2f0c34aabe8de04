package ids

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/recrawl/recrawl/internal/codec"
	"github.com/recrawl/recrawl/internal/codec/codectest"
)

func TestFirstIDsAreDense(t *testing.T) {
	r := Make(2)
	require.Equal(t, 2, r.Add())
	require.Equal(t, 3, r.Add())
	require.True(t, r.Remove(1))
	require.False(t, r.Remove(1))
	id := r.Add()
	require.Equal(t, 1, Slot(id))
	require.NotEqual(t, 1, id)
	_, ok := r.Slot(1)
	require.False(t, ok)
}

func TestSlotRetires(t *testing.T) {
	r := Make(1)
	id := 0
	for n := range generations - 1 {
		require.True(t, r.Remove(id))
		if n%1000 == 0 || n == generations-2 { // before the last time that it is given out
			r = restored(t, &r)
		}
		id = r.Add()
		require.Equal(t, 0, Slot(id))
	}
	require.True(t, r.Remove(id))
	require.Equal(t, 1, r.Add(), "slot 0 has had every generation")
	require.False(t, r.Remove(id))
	_, ok := r.Slot(generations << SlotBits)
	require.False(t, ok, "no slot has so many generations")
	_, ok = r.Slot(generations<<SlotBits | 1)
	require.False(t, ok)

	r = restored(t, &r)
	require.False(t, r.Live(0))
	require.Equal(t, 2, r.Add(), "slot 0 is retired for ever")
}

// restored returns what was saved of a registry.
func restored(t require.TestingT, r *Registry) Registry {
	got, err := reloaded(t, r)
	require.NoError(t, err)
	return got
}

// reloaded saves a registry and returns what is made of that.
func reloaded(t require.TestingT, r *Registry) (Registry, error) {
	d := codectest.Decoder(t, r.Encode)
	got := Decode(d)
	return got, d.Done()
}

// The registry against a model that remembers every id ever given out.
func property(t *rapid.T) {
	r := Make(rapid.IntRange(0, 3).Draw(t, "n"))
	valid, given := map[int]bool{}, map[int]bool{}
	for id := range r.Slots() {
		valid[id], given[id] = true, true
	}
	t.Repeat(map[string]func(*rapid.T){
		"add": func(t *rapid.T) {
			id := r.Add()
			require.False(t, given[id], "id %d was given out before", id)
			valid[id], given[id] = true, true
		},
		"remove": func(t *rapid.T) {
			id := rapid.IntRange(-1, 5).Draw(t, "slot")
			if rapid.Bool().Draw(t, "current") && id >= 0 && id < r.Slots() {
				id = r.ID(id)
			}
			require.Equal(t, valid[id], r.Remove(id))
			delete(valid, id)
		},
		"save": func(t *rapid.T) { r = restored(t, &r) },
		"": func(t *rapid.T) {
			require.Equal(t, len(valid), r.Len())
			for id := range r.All() {
				require.True(t, valid[id])
			}
			require.Len(t, slices.Collect(r.All()), len(valid))
			live := 0
			for slot := range r.Slots() {
				if r.Live(slot) {
					live++
				}
			}
			require.Equal(t, len(valid), live)
			for id := range given {
				slot, ok := r.Slot(id)
				require.Equal(t, valid[id], ok)
				if ok {
					require.Equal(t, Slot(id), slot)
					require.Equal(t, id, r.ID(slot))
				}
			}
		},
	})
}

func TestRegistry(t *testing.T) { rapid.Check(t, property) }
func FuzzRegistry(f *testing.F) { f.Fuzz(rapid.MakeFuzz(property)) }
func TestDecodeRejects(t *testing.T) {
	for name, r := range map[string]Registry{
		"free slot not listed": {slots: 1, gen: []uint16{1}},
		"live slot listed":     {slots: 1, gen: []uint16{0}, free: []uint32{0}},
		"listed twice":         {slots: 2, gen: []uint16{1, 1}, free: []uint32{0, 0}},
		"too few slots":        {slots: 0, gen: []uint16{0}},
		"beyond the end":       {slots: 1, gen: []uint16{1}, free: []uint32{7}},
		"retired slot listed":  {slots: 2, gen: []uint16{2*generations - 1, 1}, free: []uint32{0}},
	} {
		got, err := reloaded(t, &r)
		require.Zero(t, got.Slots(), name)
		require.ErrorIs(t, err, codec.ErrCorrupt, name)
	}
}
