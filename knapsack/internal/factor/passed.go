package factor

// Passed says how much time counts as passed for pages with a Factor: not less since an earlier moment than since a
// later knot of its evidence.
//
// A factor alone does not. Each moment has an estimate of its own, and polls tell more of a long time than of a
// short one. While no poll finds a change, much is known of the time since the start, in which hardly any counts as
// passed, and nothing of the last few polls, in which it goes on as usual. So pages polled a little while ago were
// polled again and again, before those that never were: of 2000 pages, 400 to 850 were polled in the first 2000
// polls (TestQuietPagesAreAllPolled).
type Passed struct {
	most []float64 // since each knot, or a later one, where that is more; none if they are not known
}

// Forget is for use when the factor has changed.
func (p *Passed) Forget() { p.most = p.most[:0] }

// Known reports whether Follow was called since.
func (p *Passed) Known() bool { return len(p.most) > 0 }

// Follow takes in what a factor has learnt, for a base of 1. O(knots).
func (p *Passed) Follow(f *Factor, l *Level) {
	n := len(f.knots)
	if n > cap(p.most) {
		p.most = make([]float64, n, 2*n)
	}
	p.most = p.most[:n]
	most := 0.0
	for i := n - 1; i >= 0; i-- {
		k := &f.knots[i]
		since := Sums{Found: float64(f.last.found - k.found), Expected: float64(f.last.expected - k.expected)}
		most = max(most, f.mean(l, &since, 1, 1)*(f.last.time-k.time))
		p.most[i] = most
	}
}

// Times returns the factor of the time from a moment to the latest evidence, which is m by itself.
func (p *Passed) Times(f *Factor, from, m float64) float64 {
	if len(f.knots) == 0 || from >= f.last.time {
		return m
	}
	i := 0
	if from >= f.knots[0].time {
		i = f.next(from)
	}
	if i == len(f.knots) {
		return m
	}
	return max(m, p.most[i]/(f.last.time-from))
}
