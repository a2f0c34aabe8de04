package packing

// kinds groups items of equal weight, by decreasing weight.
type kinds struct {
	w     []int64
	count []int
	items [][]int32 // the items of each kind
}

func newKinds(w []int64) kinds {
	var k kinds
	order := Decreasing(w)
	for at := 0; at < len(order); {
		end := at + 1
		for end < len(order) && order[end].Weight == order[at].Weight {
			end++
		}
		items := make([]int32, end-at)
		for j := range items {
			items[j] = order[at+j].Item
		}
		k.w = append(k.w, order[at].Weight)
		k.count = append(k.count, len(items))
		k.items = append(k.items, items)
		at = end
	}
	return k
}
