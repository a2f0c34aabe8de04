package subsetsum

// A table of a knapsack has the most value in room r at index r. It starts as all zeros,
// or with what is there already. Each step costs O(len(table)).

// Value is the type of values: whole numbers where the result must be exact.
type Value interface{ int64 | float64 }

// AddItem lets one more item of weight w into the knapsack of a table.
func AddItem[V Value](table []V, w int64, value V) {
	if w >= int64(len(table)) {
		return
	}
	// Invariant: table[r] is without the item below r, and with it for all larger.
	for r := len(table) - 1; r >= int(w); r-- {
		if with := table[r-int(w)] + value; with > table[r] {
			table[r] = with
		}
	}
}

// AddItemMarked is AddItem, and sets bit r of marks where the item improves room r: there
// it is in the best subset of the items so far.
func AddItemMarked[V Value](table []V, marks []uint64, w int64, value V) {
	if w >= int64(len(table)) {
		return
	}
	for r := len(table) - 1; r >= int(w); r-- {
		if with := table[r-int(w)] + value; with > table[r] {
			table[r] = with
			marks[r/64] |= 1 << (r % 64)
		}
	}
}

// Marked reports whether bit r of marks is set.
func Marked(marks []uint64, r int64) bool { return marks[r/64]>>(r%64)&1 == 1 }

// AddCopies writes to table the knapsack of a table below with up to most more items of
// weight w > 0 and the same value each. Sums of floats are taken in the order below[r] +
// t·value.
func AddCopies[V Value](table, below []V, w int64, value V, most int) {
	size := len(below)
	copy(table, below)
	for t := 1; t <= most && w <= int64(size-1)/int64(t); t++ {
		v, shift := V(V(t)*value), t*int(w)
		to := table[shift:size]
		for r, b := range below[:size-shift] {
			if x := b + v; x > to[r] {
				to[r] = x
			}
		}
	}
}
