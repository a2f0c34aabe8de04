package webenv

// A flight is a poll whose answer has not come yet.
type flight struct {
	at   float64 // time of the answer
	seq  int     // settles ties: first asked, first answered
	page int
	lost bool
}

// flights is a binary heap, the earliest answer first: no flight is before its
// parent, the parent of i being (i−1)/2.
type flights []flight

func (h flights) before(i, j int) bool {
	if h[i].at != h[j].at {
		return h[i].at < h[j].at
	}
	return h[i].seq < h[j].seq
}

func (h *flights) push(f flight) {
	*h = append(*h, f)
	s := *h
	for i := len(s) - 1; i > 0; {
		parent := (i - 1) / 2
		if !s.before(i, parent) {
			break
		}
		s[i], s[parent] = s[parent], s[i]
		i = parent
	}
}

func (h *flights) pop() flight {
	s := *h
	top := s[0]
	last := len(s) - 1
	s[0] = s[last]
	s = s[:last]
	*h = s
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			return top
		}
		if child+1 < last && s.before(child+1, child) {
			child++
		}
		if !s.before(child, i) {
			return top
		}
		s[i], s[child] = s[child], s[i]
		i = child
	}
}
