// Package ablation takes parts out of the rate filter, so that programs of this repository can
// measure what each of them is worth.
package ablation

// Parts are parts of a rate filter, added up.
type Parts uint16

const (
	Common      Parts = 1 << iota // what all pages have in common of late
	Neighbours                    // what the pages of a group have in common of late
	Likeness                      // that pages begin like those of their group
	Calibration                   // the correction of probabilities, for Detections
	Hedge                         // polling in turn while nothing else is known to be better
	Prior                         // what is known of all pages, for those of which little is
	Untouched                     // that pages never known to change differ from the others
	Edits                         // edits of many pages at once
	Waking                        // that pages which wait change more than one expects, for Delay
	Sequel                        // what a find of a page that waited leads to, for Detections
	Lately                        // how often a page changed of late, beside what is believed of it, for Detections
	Youth                         // that new pages change more or less than others, by their age
	Hearten                       // that pages which failed answer again together
)

// Without takes parts out of a new *knapsack.RateFilter, which package knapsack provides. It is not
// saved with the filter.
var Without func(filter any, parts Parts)
