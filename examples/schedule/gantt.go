package main

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"math/rand/v2"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/schedule"
)

// gantt draws the spans of a run, one line per client, with a dashed line at
// the lower bound.
func gantt(title string, clients int, run schedule.Simulation, bound float64) []byte {
	const width, row, left, top = 900, 28, 70, 34
	scale := float64(width-left-20) / max(run.Makespan, bound)
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`, width, top+clients*row+30)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="#fff"/><text x="%d" y="18" font-size="14">%s</text>`, left, html.EscapeString(title))
	for j := range clients {
		fmt.Fprintf(&b, `<text x="6" y="%d">client %d</text>`, top+j*row+18, j+1)
	}
	colours := [...]string{"#4878a8", "#7aa5cc"}
	count := make([]int, clients)
	for _, s := range run.Spans {
		fill := colours[count[s.Client]%len(colours)]
		count[s.Client]++
		if !s.Useful {
			fill = "#d9a3a3"
		}
		fmt.Fprintf(&b, `<rect x="%.2f" y="%d" width="%.2f" height="%d" fill="%s"><title>site %d: %.1f – %.1f</title></rect>`,
			left+s.Start*scale, top+s.Client*row+3, max(.2, (s.End-s.Start)*scale), row-6, fill, s.Site+1, s.Start, s.End)
	}
	x := left + bound*scale
	fmt.Fprintf(&b, `<line x1="%.2f" x2="%.2f" y1="%d" y2="%d" stroke="#b00" stroke-dasharray="4 3"/>`, x, x, top-4, top+clients*row+4)
	fmt.Fprintf(&b, `<text x="%.2f" y="%d" text-anchor="end">bound %.1f s, makespan %.1f s</text></svg>`, float64(width-20), top+clients*row+20, bound, run.Makespan)
	return b.Bytes()
}

// pictures writes Gantt charts of one instance by several methods, as they are
// planned and as they run when the predictions are wrong.
func pictures(l *lab) error {
	const m = 5
	w, _, err := newWrongWorlds(l.rng(11, 0), m, .3)
	if err != nil {
		return err
	}
	p := w.predicted
	r, err := schedule.Solve(context.Background(), p, schedule.SolveConfig{Steps: 1_000_000}, rand.NewPCG(1, 1))
	if err != nil {
		return err
	}
	page := report.Page{Title: "99 sites on five clients",
		Lead: "One instance of power-law sites, α = 2. The dashed line is the lower bound; red bars are work that a faster copy made useless."}
	draw := func(file, title string, plan schedule.Plan, cfg schedule.DispatcherConfig, actual func(int, int) float64, bound float64) error {
		d, err := schedule.NewDispatcher(p, plan, cfg)
		if err != nil {
			return err
		}
		run, err := schedule.Simulate(d, actual, nil)
		if err != nil {
			return err
		}
		svg := gantt(title, m, run, bound)
		page.Sections = append(page.Sections, report.Section{Title: title, SVG: svg})
		return l.Write(file+".svg", svg)
	}
	for _, c := range []struct {
		file, title string
		plan        schedule.Plan
		cfg         schedule.DispatcherConfig
		actual      func(int, int) float64
		bound       float64
	}{
		{"round-robin", "Round robin, cyclic", schedule.RoundRobin(p, schedule.Given), schedule.DispatcherConfig{Static: true}, p.Duration, r.Lower},
		{"pull", "Pull, given order", schedule.Pull(p, schedule.Given), schedule.DispatcherConfig{Static: true}, p.Duration, r.Lower},
		{"solved", fmt.Sprintf("Solved: %v", r.Status), r.Plan, schedule.DispatcherConfig{Static: true}, p.Duration, r.Lower},
		{"wrong-static", "The same plan, predictions off by σ = .3", r.Plan, schedule.DispatcherConfig{Static: true}, w.actual.Duration, w.bound},
		{"wrong-steal", "The same with stealing", r.Plan, schedule.DispatcherConfig{}, w.actual.Duration, w.bound},
		{"wrong-copies", "The same with stealing and copies", r.Plan, schedule.DispatcherConfig{Copies: 2}, w.actual.Duration, w.bound},
	} {
		if err := draw(c.file, c.title, c.plan, c.cfg, c.actual, c.bound); err != nil {
			return err
		}
	}
	return l.WritePage("schedule.html", page)
}
