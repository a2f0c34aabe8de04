package factor

import "github.com/recrawl/recrawl/knapsack/internal/fast"

// What edits of many pages at once did: a release, a change of a template. Such an edit changes
// pages whatever their rates, so that no multiple of these tells of it.
//
// Evidence takes edits to come at a hazard of their own, beside the pages' rates, one in each
// interval between two knots. It begins at editRate and is learnt by a step of the EM algorithm at
// each poll: one that finds a change shares it out among the page's own rate and the hazards in its
// gap, in proportion, and one that finds none lowers these. So an edit is found by the first few
// polls after it, its time by where their gaps meet those of polls that found nothing, and it
// fades where further polls do not confirm it. How much a group's hazards are believed in is learnt
// by how likely they make what polls find.
const (
	// editRate is the hazard to begin with, in edits per cycle, and editPull by how many polls it is
	// held. They were chosen on one recorded history and two simulated webs with edits of many
	// pages; 0.03 to 0.3 and 1 to 3 gain there, too, and do no harm on webs without.
	editRate, editPull = 0.15, 2
	// mostEdits bounds sums, so that they keep their digits.
	mostEdits = 1000
	// leastEdited keeps the probability that edits are believed in from becoming 0 or 1 for good.
	leastEdited = 1e-4
)

// Edited returns the probability that an edit of many pages has changed a page of the group in a time in
// which so many are to be expected.
func (f *Factor) Edited(edits float64) float64 {
	if edits == 0 {
		return 0
	}
	return float64(f.edited) * fast.Chance(edits)
}

// MostEdited is not less than Edited, and takes no logarithm.
func (f *Factor) MostEdited(edits float64) float64 { return float64(f.edited) * min(1, edits) }

// Edit takes in a poll that ended a gap and found the page changed or not, whose probability not to
// have changed by itself is stay. It comes before the Add of the same poll.
func (f *Factor) Edit(l *Level, from, to, stay float64, changed bool, cycle float64) {
	if !(to > from) {
		return
	}
	if len(f.knots) == 0 {
		f.begin(from)
	}
	if to > f.last.time {
		come := float64(f.last.edits) + float64(editRate*((to-f.last.time)/cycle))
		f.last.edits = float32(min(mostEdits, come))
		f.last.time = to
	}
	edits := f.Since(from).Edits
	f.believe(l, stay, float64(stay*(1-fast.Chance(edits))), changed)
	found := 0.0 // changes found, for each change that was expected
	if changed {
		found = 1 / max(leastLikelihood, fast.Chance(fast.Hazard(1-stay)+edits))
	}
	f.share(from, found)
}

// believe takes in a poll that was to find no change with probability alone, or with probability
// edited if edits are to be believed in.
func (f *Factor) believe(l *Level, alone, edited float64, changed bool) {
	if changed {
		alone, edited = 1-alone, 1-edited
	}
	ratio := max(edited, leastLikelihood) / max(alone, leastLikelihood)
	odds := float64(forget*float64(f.odds)) + fast.Log(ratio)
	f.odds = float32(max(-mostOdds, min(mostOdds, odds)))
	edited = l.edited * fast.Exp(float64(f.odds))
	edited /= edited + 1 - l.edited
	f.edited = float32(edited)
	l.edited = max(leastEdited, min(1-leastEdited, l.edited+float64(learn*(edited-l.edited))))
}

// share moves the hazards of a gap up to the present to where a poll that found so many changes for
// each one expected makes them most likely.
func (f *Factor) share(from, found float64) {
	i := len(f.knots) - 1
	for i > 0 && f.knots[i].time > from {
		i--
	}
	old, sum := float64(f.knots[i].edits), float64(f.knots[i].edits)
	for ; i < len(f.knots); i++ {
		k, next := &f.knots[i], f.after(i)
		hazard, part := float64(next.edits)-old, 1.0
		if from > k.time && next.time > k.time {
			part = max(0, (next.time-from)/(next.time-k.time))
		}
		polls := float64(k.polls) + editPull
		sum += float64(hazard*(polls+float64(found*part))) / (polls + part)
		sum = min(mostEdits, sum)
		k.polls = min(mostSum, k.polls+float32(part))
		old, next.edits = float64(next.edits), max(k.edits, float32(sum))
	}
}

// after returns the knot after one.
func (e *Evidence) after(i int) *knot {
	if i++; i < len(e.knots) {
		return &e.knots[i]
	}
	return &e.last
}

// join gives the interval before a knot the polls of both, as the knot is dropped.
func (e *Evidence) join(i int) {
	before, k, end := &e.knots[i-1], e.knots[i], e.after(i).time
	part := float32((k.time - before.time) / (end - before.time))
	before.polls = float32(part*before.polls) + float32((1-part)*k.polls)
}
