// Package rates estimates the constant change rates of pages from polls that tell only whether a
// page changed since its previous poll. Each estimator is an [Evidence]; it knows pages by their
// slots, 0, 1, 2, …
package rates

import (
	"math"

	"github.com/recrawl/recrawl/internal/codec"
)

// least and most bound rates, so that their inverses are finite and roots are found.
const least, most = 1e-300, 1e300

// Within returns the rate within these bounds that is nearest to x.
func Within(x float64) float64 { return min(max(x, least), most) }

// Evidence is what polls have found of all pages, and the rates that follow from it. Rates are
// per unit of time; prior is the mean rate of all pages so far.
type Evidence interface {
	// Add appends a slot.
	Add()
	// Reset forgets what was found of a page.
	Reset(slot int)
	// Observe learns from a poll a time gap > 0 after the one before.
	Observe(slot int, gap float64, changed bool, prior float64)
	// Rate returns the estimate, above 0 and finite.
	Rate(slot int, prior float64) float64
	// Page returns what was found of one page, as evidence of the same type with that page only;
	// SetPage puts it in, here or in other evidence of the type.
	Page(slot int) Evidence
	SetPage(slot int, page Evidence)
	// Encode and Decode write and read the evidence.
	Encode(e *codec.Encoder)
	Decode(d *codec.Decoder, slots int)
}

var _, _, _, _ Evidence = (*MLE)(nil), (*Gamma)(nil), (*Cho)(nil), (*Avrachenkov)(nil)

// decodeNumbers reads a finite number ≥ 0 for each slot.
func decodeNumbers(d *codec.Decoder, slots int) []float64 {
	return d.Float64sIn(slots, 0, math.MaxFloat64)
}

// decodeCounts reads a number for each slot.
func decodeCounts(d *codec.Decoder, slots int) []uint32 { return d.Uint32sIn(slots, math.MaxUint32) }
