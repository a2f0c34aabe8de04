package main

import (
	"github.com/recrawl/recrawl/internal/ablation"
	"github.com/recrawl/recrawl/webenv"
)

// ablated are the rate filter with groups, which stands for the best peer of each cell here, and
// what is left of it without one of its parts.
var ablated = []policy{
	{name: "rate-filter+groups", tuned: true, new: rateFilterGroups},
	{name: "no factor of all", tuned: true, ours: true, new: without(ablation.Common)},
	{name: "no factor of groups", tuned: true, ours: true, new: without(ablation.Neighbours)},
	{name: "no prior of groups", tuned: true, ours: true, new: without(ablation.Likeness)},
	{name: "no groups", tuned: true, ours: true, new: rateFilter},
	{name: "no calibration", tuned: true, ours: true, new: without(ablation.Calibration)},
	{name: "no untouched", tuned: true, ours: true, new: without(ablation.Untouched)},
	{name: "no waking", tuned: true, ours: true, new: without(ablation.Waking)},
	{name: "no lately", tuned: true, ours: true, new: without(ablation.Lately)},
	{name: "no sequel", tuned: true, ours: true, new: without(ablation.Sequel)},
	{name: "no hedge", tuned: true, ours: true, new: without(ablation.Hedge)},
	{name: "no prior of all", tuned: true, ours: true, new: without(ablation.Prior)},
	{name: "no edits", tuned: true, ours: true, new: without(ablation.Edits)},
	{name: "no signals", tuned: true, ours: true, new: deaf},
}

// without is the rate filter with groups and without some of its parts.
func without(parts ablation.Parts) func(job) (webenv.Scheduler, error) {
	return func(j job) (webenv.Scheduler, error) {
		f, err := rateFilterGroups(j)
		if err == nil {
			ablation.Without(f.(*grouped).RateFilter, parts)
		}
		return f, err
	}
}

// deaf is the rate filter with groups, that no signal reaches.
func deaf(j job) (webenv.Scheduler, error) {
	f, err := rateFilterGroups(j)
	return struct{ webenv.Scheduler }{f}, err
}
