package main

import "github.com/recrawl/recrawl/webenv"

// An account sums up polls of a record at any times, page by page or all in their order.
type account struct {
	env    webenv.Env
	missed *missed
	result webenv.Result
	stale  float64 // page-time in which copies were not current
}

// poll looks at a page.
func (a *account) poll(page int, now float64) (changed bool) {
	changed = a.look(page, now)
	a.result.Polls++
	if changed {
		a.result.Detected++
		a.result.Value++
	}
	return changed
}

func (a *account) look(page int, now float64) (changed bool) {
	since, changed := a.env.Poll(page, now)
	if changed {
		a.stale += now - since
		a.result.Age += (now - since) * (now - since) / 2
	}
	a.missed.poll(webenv.Poll{Page: page, Time: now})
	return changed
}

// settle looks at all pages at their end, and returns the result.
func (a *account) settle(w *world) webenv.Result {
	for page := range w.pages {
		a.look(page, w.life(page).to)
	}
	pageTime := w.pageTime(nil)
	r := a.result
	r.Freshness, r.Age = 1-a.stale/pageTime, r.Age/pageTime
	_, r.Delay = a.missed.costs()
	return r
}

// atCost returns what polls a record as webenv.Run does, but a poll uses up the budget of the
// time that it costs: after a page that costs twice the mean the next poll is two
// intervals later.
func (w *world) atCost(costs []float64, missed *missed) func(webenv.Env, webenv.Scheduler, webenv.RunConfig) (webenv.Result, error) {
	return func(env webenv.Env, scheduler webenv.Scheduler, o webenv.RunConfig) (r webenv.Result, err error) {
		a := &account{env: env, missed: missed}
		for now := o.Start + 1/o.Rate; now <= o.Start+o.Duration; {
			page, err := scheduler.Next(now)
			if err != nil {
				return r, err
			}
			if err := scheduler.Observe(page, now, a.poll(page, now)); err != nil {
				return r, err
			}
			now += costs[page] / o.Rate
		}
		return a.settle(w), nil
	}
}
