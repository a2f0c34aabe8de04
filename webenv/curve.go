package webenv

import "math"

// mostBuckets bounds the memory of a curve. Nobody looks at that many parts.
const mostBuckets = 1e6

// buckets collects a Result.Curve in O(1) for each poll.
type buckets struct {
	start, width float64
	curve        []Bucket
	part         []float64 // stale page-time of pages that are stale for part of a bucket
	whole        []float64 // weight that is stale for a whole bucket, as differences between buckets
}

func newBuckets(n int, start, duration float64) buckets {
	b := buckets{start: start, width: duration / float64(n), curve: make([]Bucket, n), part: make([]float64, n), whole: make([]float64, n+1)}
	for i := range b.curve {
		b.curve[i].End = b.edge(i + 1)
	}
	return b
}

// edge returns the time at which bucket i begins.
func (b *buckets) edge(i int) float64 { return b.start + float64(float64(i)*b.width) }

// at returns the bucket (begin, end] that contains t.
func (b *buckets) at(t float64) int {
	i := min(max(int(math.Ceil((t-b.start)/b.width))-1, 0), len(b.curve)-1)
	// The quotient may be rounded across a whole number.
	switch {
	case i > 0 && t <= b.curve[i-1].End:
		i--
	case i < len(b.curve)-1 && t > b.curve[i].End:
		i++
	}
	return i
}

// poll counts a poll.
func (b *buckets) poll(now float64, changed bool) {
	if len(b.curve) == 0 {
		return
	}
	c := &b.curve[b.at(now)]
	c.Polls++
	if changed {
		c.Detected++
	}
}

// stale spreads the interval from since to until over the buckets.
func (b *buckets) stale(w, since, until float64) {
	if len(b.curve) == 0 {
		return
	}
	i, j := b.at(since), b.at(until)
	if i == j {
		b.part[i] += float64(w * (until - since))
		return
	}
	b.part[i] += float64(w * (b.edge(i+1) - since))
	b.part[j] += float64(w * (until - b.edge(j)))
	b.whole[i+1] += w
	b.whole[j] -= w
}

// sum returns the curve, where total is the weight of all pages.
func (b *buckets) sum(total float64) []Bucket {
	whole := 0.0
	for i := range b.curve {
		whole += b.whole[i]
		b.curve[i].Freshness = 1 - (b.part[i]/b.width+whole)/total
	}
	return b.curve
}
