package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/recrawl/recrawl/examples/internal/report"
)

// title says what was run.
func title(w *world, o *outcome) string {
	unit, _ := w.units()
	if w.budget() == 1 {
		unit = strings.Replace(unit, "polls", "poll", 1)
	}
	web := fmt.Sprintf("%s: %s", w.name, report.Count(w.pages, "page"))
	if w.history != nil {
		web += fmt.Sprintf(", %s in %s", report.Count(w.changes(), "change"), report.Count(int(math.Round(w.duration/day)), "day"))
	}
	return fmt.Sprintf("%s; budget %s %s, %s by each policy", web, report.Format(w.budget()), unit, report.Count(o.polls, "poll"))
}

// changes counts the changes on record up to the end of the run.
func (w *world) changes() (n int) {
	for _, times := range w.history.Times {
		for _, t := range times {
			if t <= w.start+w.duration {
				n++
			}
		}
	}
	return n
}

func printTable(out io.Writer, w *world, outcomes []*outcome, by goal) error {
	header, rows := table(w, outcomes, by)
	if _, err := fmt.Fprintf(out, "%s\n\n", title(w, outcomes[0])); err != nil {
		return err
	}
	return report.WriteTable(out, header, rows)
}

// table returns the cells of the table.
func table(w *world, outcomes []*outcome, by goal) (header []string, rows [][]string) {
	_, unit := w.units()
	header = []string{"policy", "detected", "±", "per poll", "freshness", "age (" + unit + "s)"}
	if outcomes[0].harmonic != nil {
		header = append(header, "harmonic")
	}
	if outcomes[0].delay != nil {
		header = append(header, "delay ("+unit+"s)")
	}
	header = append(header, "× "+outcomes[0].policy.name)
	for _, o := range outcomes {
		detected, sd := report.MeanSD(o.detected)
		freshness, _ := report.MeanSD(o.freshness)
		age, _ := report.MeanSD(o.age)
		row := []string{
			o.policy.name, strconv.FormatFloat(detected, 'f', 0, 64), spread(sd, len(o.detected), 0),
			fmt.Sprintf("%.3f", o.perPoll(detected)), fmt.Sprintf("%.4f", freshness), fmt.Sprintf("%.2f", age),
		}
		if o.harmonic != nil {
			h, _ := report.MeanSD(o.harmonic)
			row = append(row, fmt.Sprintf("%.4f", h))
		}
		if o.delay != nil {
			delay, _ := report.MeanSD(o.delay)
			row = append(row, fmt.Sprintf("%.2f", delay))
		}
		relative := "–"
		if times := by.relative(o, outcomes[0]); !math.IsNaN(times) && !math.IsInf(times, 0) {
			relative = fmt.Sprintf("%.3f", times)
		}
		rows = append(rows, append(row, relative))
	}
	return header, rows
}

// perPoll returns how much was detected per poll, 0 where a policy found no page worth a poll.
func (o *outcome) perPoll(detected float64) float64 { return detected / float64(max(1, o.polls)) }

// spread says a standard deviation, of which a single run has none.
func spread(sd float64, runs, digits int) string {
	if runs < 2 {
		return ""
	}
	return strconv.FormatFloat(sd, 'f', digits, 64)
}

// A result is what -json prints.
type result struct {
	Trace     string         `json:"trace"`
	Pages     int            `json:"pages"`
	Budget    float64        `json:"budget"`
	Unit      string         `json:"budget_unit"`
	Polls     int            `json:"polls"`
	Objective string         `json:"objective"`
	Seed      uint64         `json:"seed"`
	AgeUnit   string         `json:"age_unit"`
	Policies  []policyResult `json:"policies"`
}

// A policyResult has means over the runs. SD is the standard deviation of
// detected, null for one run; harmonic is null in simulated webs, and delay in some.
type policyResult struct {
	Name      string   `json:"name"`
	Detected  float64  `json:"detected"`
	SD        *float64 `json:"sd"`
	Runs      int      `json:"runs"`
	PerPoll   float64  `json:"per_poll"`
	Freshness float64  `json:"freshness"`
	Age       float64  `json:"age"`
	Harmonic  *float64 `json:"harmonic"`
	Delay     *float64 `json:"delay"`
	Times     *float64 `json:"times_yours,omitempty"` // only of a log
}

func summary(w *world, outcomes []*outcome, by goal, s *settings) result {
	unit, age := w.units()
	r := result{
		Trace: w.name, Pages: w.pages, Budget: w.budget(), Unit: unit, Polls: outcomes[0].polls,
		Objective: by.name, Seed: s.Seed, AgeUnit: age,
	}
	for _, o := range outcomes {
		p := policyResult{Name: o.policy.name, Runs: len(o.detected)}
		var sd float64
		p.Detected, sd = report.MeanSD(o.detected)
		if p.Runs > 1 {
			p.SD = &sd
		}
		p.PerPoll = o.perPoll(p.Detected)
		p.Freshness, _ = report.MeanSD(o.freshness)
		p.Age, _ = report.MeanSD(o.age)
		if o.harmonic != nil {
			h, _ := report.MeanSD(o.harmonic)
			p.Harmonic = &h
		}
		if o.delay != nil {
			delay, _ := report.MeanSD(o.delay)
			p.Delay = &delay
		}
		r.Policies = append(r.Policies, p)
	}
	return r
}

// smoothed has the means of every few values of a curve, each at the middle of its
// stretch of time.
func smoothed(time, values []float64) (x, y []float64) {
	const few = points / 25
	for k := 0; k+few <= len(values); k += few {
		t, _ := report.MeanSD(time[k : k+few])
		v, _ := report.MeanSD(values[k : k+few])
		x, y = append(x, t), append(y, v)
	}
	return x, y
}

// mainPolicies are drawn in colours among more than four.
var mainPolicies = []string{"uniform", "nutch", "rate-filter", "true-rates"}

// writePictures writes the curves as a picture of its own, and with the table on
// a page.
func writePictures(s *settings, w *world, outcomes []*outcome, by goal) error {
	_, unit := w.units()
	detections := report.Chart{Title: "Changes detected", X: unit + "s", Y: "changes detected so far", Sums: true}
	freshness := report.Chart{Title: "Freshness, in 25 parts of the time", X: unit + "s", Y: "share of copies that are current", Zoom: true}
	for _, o := range outcomes {
		s := report.Series{Name: o.policy.name, Dashed: o.policy.name == "true-rates"}
		s.Main = len(outcomes) > 4 && slices.Contains(mainPolicies, s.Name)
		s.X, s.Y = append([]float64{0}, o.time...), append([]float64{0}, o.cumulative...)
		detections.Series = append(detections.Series, s)
		s.X, s.Y = smoothed(o.time, o.fresh)
		freshness.Series = append(freshness.Series, s)
	}
	var sections []report.Section
	for _, c := range []struct {
		file  string
		chart report.Chart
	}{{"detections.svg", detections}, {"freshness.svg", freshness}} {
		svg, err := s.WriteChart(c.file, c.chart)
		if err != nil {
			return err
		}
		sections = append(sections, report.Section{SVG: svg})
	}
	header, rows := table(w, outcomes, by)
	all := report.Section{Text: columns, Header: header, Rows: rows}
	page := report.Page{Title: "Recrawling a changing web", Lead: title(w, outcomes[0]), Sections: append([]report.Section{all}, sections...)}
	return s.WritePage("recrawl.html", page)
}
