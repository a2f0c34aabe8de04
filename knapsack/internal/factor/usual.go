package factor

import "github.com/recrawl/recrawl/internal/codec"

// A Usual learns by how much more or less the pages of all groups change than is expected of each. That is
// nothing that those of one group have in common: in the first cycles mostly how much too quick new pages
// were taken to be, and after them by how much pages that come in bursts were. It forgets in about as many
// answers as there are pages. The zero value knows nothing.
//
// In two generated histories of news with groups at random, copies are .6 % less stale with it, and delays .8 %
// shorter (three budgets). On seven histories of files that change at releases it makes no difference.
type Usual struct{ found, expected float64 }

// usualPull is how many expected changes it takes until a Usual half believes what it sees. With 2
// it does as well.
const usualPull = 8

// Learn takes in the changes found and expected at a poll of one of so many pages.
func (u *Usual) Learn(found, expected float64, pages int) {
	keep := 1 - 1/float64(max(2, pages))
	u.found = float64(u.found*keep) + found
	u.expected = float64(u.expected*keep) + expected
}

// Times returns how many times as many changes are found as are expected.
func (u *Usual) Times() float64 { return (usualPull + u.found) / (usualPull + u.expected) }

// Encode writes what was learnt.
func (u *Usual) Encode(e *codec.Encoder) {
	e.Float64(u.found)
	e.Float64(u.expected)
}

// Decode reads what Encode wrote.
func (u *Usual) Decode(d *codec.Decoder) {
	u.found, u.expected = d.Float64In(0, mostSum), d.Float64In(0, mostSum)
}
