package packing

// kinds groups items of equal weight, by decreasing weight.
type kinds struct {
	w     []int64
	count []int
	items [][]int32 // the items of each kind
}

func newKinds(w []int64) kinds {
	k, _ := kindsOf(Decreasing(w), nil)
	return k
}

// kindsOf groups items in order of decreasing weight, until the watch ends.
func kindsOf(order []Ranked, watch *watch) (k kinds, ok bool) {
	all := make([]int32, len(order))
	for at := 0; at < len(order); {
		end := at
		for ; end < len(order) && order[end].Weight == order[at].Weight; end++ {
			all[end] = order[end].Item
		}
		if watch.spend(2 * (end - at)) {
			return k, false
		}
		k.w = append(k.w, order[at].Weight)
		k.count = append(k.count, end-at)
		k.items = append(k.items, all[at:end:end])
		at = end
	}
	return k, true
}
