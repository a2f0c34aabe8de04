package packing

// ApproxSubset finds a subset whose weight is at least (1−ε) times the largest possible,
// 1e-4 ≤ ε < 1, in O(n/ε²) time (after Ibarra & Kim 1975).
//
// With half = ε/2 the items are large (above half·C) or small. Large ones are counted in
// K = half²·C, rounded down, and for every scaled sum the smallest true sum is kept. A
// solution has fewer than 1/half large items, so it is met to within K/half = half·C. Then
// small items are added: either all fit, or less than half·C is left. As the optimum is at
// least C/2 whenever not all items fit, what is lost, half·C, is at most ε times the
// optimum.
func ApproxSubset(w []int64, c int64, epsilon float64) Subset {
	s := newSubset(w, c)
	if !s.proved {
		s.approximate(epsilon / 2)
	}
	return s.result()
}

func (s *subset) approximate(half float64) {
	large := 0
	small := int64(0) // weight of the small items
	for i, w := range s.w {
		if float64(w) > half*float64(s.c) {
			large = i + 1
		} else {
			small += w
		}
	}
	scale := max(int64(half*half*float64(s.c)), 1)
	states := int(s.c/scale) + 1
	least, from := make([]int64, states), make([]int32, states)
	for k := range least {
		least[k] = -1 // not reached
	}
	least[0], from[0] = 0, -1
	var t trail
	for i, w := range s.w[:large] {
		d := int(w / scale)
		for k := states - 1; k >= d; k-- {
			sum := least[k-d]
			if sum < 0 || sum+w > s.c {
				continue
			}
			if least[k] < 0 || sum+w < least[k] {
				least[k] = sum + w
				from[k] = t.add(from[k-d], int32(i))
			}
		}
	}
	best := 0
	for k, sum := range least {
		if sum >= 0 && min(sum+small, s.c) > min(least[best]+small, s.c) {
			best = k
		}
	}
	in := make([]bool, len(s.w))
	t.apply(from[best], in)
	room := s.c - least[best]
	for i := large; i < len(s.w); i++ {
		if s.w[i] <= room {
			in[i] = true
			room -= s.w[i]
		}
	}
	s.offer(s.c-room, func(i int) bool { return in[i] })
}
