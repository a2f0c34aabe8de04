package factor

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
)

// A Standing is by how much more often the pages of a group change than the pages of all: what a
// page of which little is known begins with. It has the sums of the Marks of the group's pages.
// The zero value has none.
//
// Time: O(1). Memory: 16 bytes a group, and 2 for each page.
//
// # How it works
//
// The logarithm of a page's rate is taken to be normal around the mean of its group, and that
// around the mean of all. Where a part k of what there was to know of a page is known, the
// posterior mean of the logarithm lies k times as far from the mean of all as what its own polls
// say. So the best linear estimate for a group from d, the distances of the posterior means of
// its pages, is Σd/(Σk + ratio), which is a step of Newton's method towards the most likely mean.
//
// The prior that the distances are from need not have the mean of the pages: one that is wider than
// they are is quicker as well. What all pages lean is nothing that those of a group have in
// common, and is taken out first: d is less by k times Σd/(Σk + ratio) of all pages.
type Standing struct {
	lean, known int64 // sums of those of the Marks
}

// A Mark is what a page contributes to the standing of its group. The zero Mark is that of a
// page of which nothing is known.
type Mark struct {
	known uint8 // the part that is known, in 255ths
	lean  int8  // how much further the mean of its log rate is than that of all pages, in leanSteps
}

const (
	// ratio is that of the variance of log rates within groups and between them. Of the logarithms of
	// changes in three recorded histories with folders the part between folders is 40, 51 and 74 %,
	// which is 1.5, 1 and 0.35. At a quarter of the budget of the examples, 0.5, 1 and 2 find the same
	// but for chance. Where groups are less alike, a Likeness tells.
	ratio = 1
	// leanStep is the unit of a lean, in nats.
	leanStep = 1.0 / 12
	// mostStanding bounds how far a group leans, in nats.
	mostStanding = 3
)

// MarkOf returns the mark of a page of which a part is known, and whose log rate is so many nats
// above that of all pages.
func MarkOf(known, lean float64) Mark {
	return Mark{
		known: uint8(math.Round(math.MaxUint8 * max(0, min(1, known)))),
		lean:  int8(math.Round(max(math.MinInt8, min(math.MaxInt8, lean/leanStep)))),
	}
}

// Bytes returns the mark in two bytes.
func (m Mark) Bytes() (known, lean byte) { return m.known, byte(m.lean) }

// MarkFrom is the inverse of Bytes.
func MarkFrom(known, lean byte) Mark { return Mark{known, int8(lean)} }

// Add takes in a page that comes.
func (s *Standing) Add(m Mark) {
	s.lean += int64(m.lean)
	s.known += int64(m.known)
}

// Drop takes out a page that goes.
func (s *Standing) Drop(m Mark) {
	s.lean -= int64(m.lean)
	s.known -= int64(m.known)
}

// of returns by how many nats more than all pages, which lean so much, the others make one expect a page to
// lean of which nothing is known.
func (s *Standing) of(own Mark, all float64) (lean float64) {
	others := float64(s.known-int64(own.known)) / math.MaxUint8
	lean = float64(s.lean-int64(own.lean))*leanStep - float64(all*others)
	return max(-mostStanding, min(mostStanding, lean/(others+ratio)))
}

// A Likeness is how much alike the pages of groups are, in all groups together: by how much a page
// leans for each nat that the others of its group make one expect, learnt by regression. The zero
// value takes them to be as different as any, and so does one of groups that have nothing in
// common.
type Likeness struct {
	product, square float64
	lean, known     int64 // sums of those of all Marks
}

const (
	// doubt is the square of nats that it takes for groups to be half believed in: some 50 pages that
	// are well known, of groups that lean by 0.3.
	doubt = 4
	// likenessMemory is in how many answers of each page a likeness is forgotten.
	likenessMemory = 20
)

// Replace takes in that a page, in a group or not, has another mark than before.
func (l *Likeness) Replace(before, now Mark) {
	l.lean += int64(now.lean) - int64(before.lean)
	l.known += int64(now.known) - int64(before.known)
}

// all returns by how many nats all pages lean.
func (l *Likeness) all() float64 {
	return float64(l.lean) * leanStep / (float64(l.known)/math.MaxUint8 + ratio)
}

// Learn takes in the mark of one of so many pages, of a group.
func (l *Likeness) Learn(s *Standing, m Mark, pages int) {
	all, known := l.all(), float64(m.known)/math.MaxUint8
	own, expected := float64(m.lean)*leanStep-float64(all*known), known*s.of(m, all)
	keep := 1 - 1/(likenessMemory*float64(max(pages, 4)))
	l.product = float64(l.product*keep) + float64(expected*own)
	l.square = float64(l.square*keep) + float64(expected*expected)
}

// Lean returns by how many nats the log rate of a page is to be expected above the mean of all
// pages, by the others of its group alone.
func (l *Likeness) Lean(s *Standing, own Mark) float64 {
	return s.of(own, l.all()) * max(0, min(1, l.product/(l.square+doubt)))
}

// Encode writes the likeness without the marks.
func (l *Likeness) Encode(e *codec.Encoder) {
	e.Float64(l.product)
	e.Float64(l.square)
}

// Decode reads what Encode wrote; Replace tells it the marks.
func (l *Likeness) Decode(d *codec.Decoder) {
	l.product, l.square = d.Float64In(-mostLikeness, mostLikeness), d.Float64In(0, mostLikeness)
}

// mostLikeness bounds numbers in saved states.
const mostLikeness = 1e12
