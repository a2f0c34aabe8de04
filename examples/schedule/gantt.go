package main

import (
	"context"
	"fmt"
	"html"
	"math"
	"strings"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/schedule"
)

// A chart shows how one run goes: one line per client, a bar per site, and a dashed line at
// the lower bound.
type chart struct {
	file, title string
	run         schedule.Simulation
	bound       float64 // no plan that knew the durations ends earlier
}

// svg draws the chart on a time axis from 0 to end, which all charts share. Made is the
// command line, or empty.
func (c chart) svg(clients int, end float64, made string) []byte {
	const width, row, left, right, top = 440, 24, 66, 14, 62
	scale := (width - left - right) / end
	bottom := float64(top + clients*row)
	above := max(c.run.Makespan/c.bound-1, 0) // rounding can leave a little less than the bound
	label := fmt.Sprintf("makespan %.0f s, lower bound %.0f s (%.1f %% above it)", c.run.Makespan, c.bound, 100*above)
	height := bottom + 44
	if made != "" {
		height += 18
	}
	var b strings.Builder
	b.WriteString(report.Canvas(width, height, c.title+": "+label+". One line per client, one bar per site."))
	b.WriteString(strings.Replace(report.Text(12, 24, "", "start", c.title), "<text", `<text font-weight="600"`, 1))
	b.WriteString(report.Text(12, 43, "soft", "start", label))
	for _, v := range report.Ticks(0, end) {
		x := left + v*scale
		fmt.Fprintf(&b, `<line class="grid" x1="%.1f" x2="%.1f" y1="%d" y2="%.1f"/>`, x, x, top, bottom)
		b.WriteString(report.Text(x, bottom+17, "soft", "middle", report.Tick(v)))
	}
	b.WriteString(report.Text(width-right, bottom+34, "soft", "end", "time (s)"))
	for j := range clients {
		b.WriteString(report.Text(left-8, float64(top+j*row+16), "", "end", fmt.Sprintf("client %d", j+1)))
	}
	count := make([]int, clients)
	for _, s := range c.run.Spans {
		class := fmt.Sprintf("b%d", count[s.Client]%2) // so that neighbours can be told apart
		count[s.Client]++
		if !s.Useful {
			class = "lost"
		}
		name := fmt.Sprintf("site %d: %.0f to %.0f s", s.Site+1, s.Start, s.End)
		fmt.Fprintf(&b, `<rect class="%s" x="%.2f" y="%d" width="%.2f" height="%d"><title>%s</title></rect>`,
			class, left+s.Start*scale, top+s.Client*row+3, max(.2, (s.End-s.Start)*scale), row-6, html.EscapeString(name))
	}
	x := left + c.bound*scale
	fmt.Fprintf(&b, `<line class="bound" stroke-width="1.5" stroke-dasharray="5 3" x1="%.1f" x2="%.1f" y1="%d" y2="%.1f"/>`, x, x, top-6, bottom+4)
	if made != "" {
		b.WriteString(report.Text(12, height-9, "soft", "start", made))
	}
	b.WriteString("</svg>\n")
	return []byte(b.String())
}

// balancedWorld draws worlds until no single site decides the makespan: the fastest client
// does the largest site in half of the lower bound.
func balancedWorld(l *lab, clients int, sigma float64) (wrongWorld, error) {
	for draw := 0; ; draw++ {
		w, _, err := newWrongWorlds(l.rng(11, draw), clients, sigma)
		if err != nil {
			return w, err
		}
		if largest(w.actual) <= w.bound/2 {
			return w, nil
		}
	}
}

// largest returns the time of the site that takes longest on the client that is fastest
// for it.
func largest(p *schedule.Problem) (longest float64) {
	for site := range p.Sites() {
		least := math.Inf(1)
		for client := range p.Clients() {
			least = min(least, p.Duration(site, client))
		}
		longest = max(longest, least)
	}
	return longest
}

// pictures draws one instance by several methods, as planned and as they run when the
// predictions are wrong, on one time axis.
func pictures(l *lab) error {
	const clients = 5
	w, err := balancedWorld(l, clients, .3)
	if err != nil {
		return err
	}
	p := w.predicted
	r, err := schedule.Solve(context.Background(), p, schedule.SolveConfig{Steps: 1_000_000})
	if err != nil {
		return err
	}
	static := schedule.DispatcherConfig{Static: true}
	var charts []chart
	end := 0.0
	for _, c := range []struct {
		file, title string
		plan        schedule.Plan
		cfg         schedule.DispatcherConfig
		actual      *schedule.Problem
		bound       float64
	}{
		{"round-robin", "Round robin, cyclic", must(schedule.RoundRobin(p, nil)), static, p, r.Lower},
		{"pull", "Pull, given order", must(schedule.Pull(p, nil)), static, p, r.Lower},
		{"solved", fmt.Sprintf("Solved: %v", r.Status), r.Plan, static, p, r.Lower},
		{"wrong-static", "The same plan, predictions off by σ = .3", r.Plan, static, w.actual, w.bound},
		{"wrong-steal", "The same with batches divided anew", r.Plan, schedule.DispatcherConfig{Copies: 1}, w.actual, w.bound},
		{"wrong-copies", "The same with copies", r.Plan, schedule.DispatcherConfig{}, w.actual, w.bound},
	} {
		d, err := schedule.NewDispatcher(p, c.plan, c.cfg)
		if err != nil {
			return err
		}
		run, err := schedule.Simulate(d, worldOf(c.actual))
		if err != nil {
			return err
		}
		charts = append(charts, chart{c.file, c.title, run, c.bound})
		end = max(end, run.Makespan)
	}
	page := report.Page{Title: "99 sites on five clients",
		Lead: "One instance of power-law sites, α = 2, in which no single site decides the makespan. All charts have the same time axis. " +
			"A bar is a site; the dashed line is the lower bound; red bars are work that a faster copy made useless."}
	for _, c := range charts {
		page.Sections = append(page.Sections, report.Section{SVG: c.svg(clients, end*1.02, "")})
		if err := l.Write(c.file+".svg", c.svg(clients, end*1.02, l.Command())); err != nil {
			return err
		}
	}
	page.Sections = append(page.Sections, report.RowsSection("Figures", l.Rows()))
	return l.WritePage("schedule.html", page)
}
