package main

import (
	"math/rand/v2"

	"github.com/recrawl/recrawl/webenv"
)

// recorded returns the world as a record of the given length. A page that
// changes several times within a step counts as changed once.
func (w *world) recorded(duration, step float64, src rand.Source) (*world, error) {
	env, err := w.open(src)
	if err != nil {
		return nil, err
	}
	r := &record{history: &webenv.History{Times: make([][]float64, w.pages)}, moves: w.moves}
	if w.swapEvery > 0 {
		r.moves = float64(w.swapEvery/w.pages) * step
	}
	for now := w.start; now < w.start+duration; {
		if len(r.rates) == 0 || r.moves > 0 && now >= float64(len(r.rates))*r.moves {
			rates := make([]float64, w.pages)
			for page := range rates {
				rates[page] = env.Rate(page, now)
			}
			r.rates = append(r.rates, rates)
		}
		now += step
		for page := range w.pages {
			if since, changed := env.Poll(page, now); changed {
				r.history.Times[page] = append(r.history.Times[page], since)
			}
		}
	}
	return &world{
		name: w.name, pages: w.pages, start: w.start, duration: duration, slots: w.slots, history: r.history, moves: r.moves,
		open: func(rand.Source) (environment, error) {
			replay, err := webenv.NewReplay(r.history, w.start)
			return recordedWeb{replay, r}, err
		},
	}, nil
}

// A record is what happened in a simulation.
type record struct {
	history *webenv.History
	rates   [][]float64 // true rates at time 0, moves, 2·moves, …
	moves   float64
}

// recordedWeb replays a record, and knows the rates that were behind it.
type recordedWeb struct {
	*webenv.Replay
	record *record
}

func (e recordedWeb) Rate(page int, now float64) float64 {
	k := 0
	if e.record.moves > 0 {
		k = min(int(now/e.record.moves), len(e.record.rates)-1)
	}
	return e.record.rates[k][page]
}
