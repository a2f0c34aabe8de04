package packing

import "github.com/recrawl/recrawl/internal/work"

// kinds groups items of equal weight, by decreasing weight.
type kinds struct {
	w     []int64
	count []int
	item  []int32 // the items by decreasing weight
	start []int32 // of each kind in item, and the end
}

// kindsOf groups items in order of decreasing weight, until the watch ends.
func kindsOf(order []Ranked, watch *work.Watch) (k kinds, ok bool) {
	n := len(order)
	k.item = make([]int32, n)
	m := 0
	if !watch.Chunks(n, 1, func(from, to int) {
		for at := from; at < to; at++ {
			k.item[at] = order[at].Item
			if at == 0 || order[at].Weight != order[at-1].Weight {
				m++
			}
		}
	}) {
		return kinds{}, false
	}
	k.w, k.count, k.start = make([]int64, 0, m), make([]int, 0, m), make([]int32, 0, m+1)
	if !watch.Chunks(n, 1, func(from, to int) {
		for at := from; at < to; at++ {
			if at == 0 || order[at].Weight != order[at-1].Weight {
				k.w, k.count, k.start = append(k.w, order[at].Weight), append(k.count, 0), append(k.start, int32(at))
			}
			k.count[len(k.count)-1]++
		}
	}) {
		return kinds{}, false
	}
	k.start = append(k.start, int32(n))
	return k, true
}

// items returns the items of a kind.
func (k *kinds) items(j int) []int32 { return k.item[k.start[j]:k.start[j+1]] }
