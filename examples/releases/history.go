package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recrawl/recrawl/examples/internal/report"
	"github.com/recrawl/recrawl/webenv"
)

const (
	// day in seconds.
	day = 86400
	// pollsOfAPage is how often the budget that is proposed polls each page: at some dozens the
	// policies differ most, as there is something to learn, and not all is found anyway.
	pollsOfAPage = 40
	// crowd is how many releases of one second are counted as one event, as those of all modules of
	// a repository.
	crowd = 5
)

// releases are what was downloaded.
type releases struct {
	history *webenv.History
	of      nouns

	unserved, cut            []string // modules
	unreadable, gone, future []string // versions

	changes, crowded, quiet int
	first, last             float64 // changes
}

// nouns say what pages and their changes are.
type nouns struct{ page, change string }

// assemble forms the history of the modules: the releases of a number of days before the last one,
// to the second. Modules are in ascending order of their paths.
func assemble(modules []listing, days int, now time.Time) *releases {
	r := &releases{history: new(webenv.History), of: nouns{"module", "release"}}
	last := math.Inf(-1)
	for _, m := range modules {
		if !m.served {
			r.unserved = append(r.unserved, m.path)
			continue
		}
		var times []float64
		for _, v := range r.dated(m, now) {
			times = append(times, v.at())
			last = max(last, v.at())
		}
		slices.Sort(times)
		r.history.Names = append(r.history.Names, m.path)
		r.history.Times = append(r.history.Times, slices.Compact(times))
	}
	begin := last - float64(days)*day
	for page, times := range r.history.Times {
		for len(times) > 0 && times[0] < begin {
			times = times[1:]
		}
		r.history.Times[page] = times
	}
	r.count()
	return r
}

// dated returns the versions of a module whose times are known, in ascending order of the versions. It takes
// down what is the matter with others.
func (r *releases) dated(m listing, now time.Time) (versions []version) {
	if m.more {
		r.cut = append(r.cut, m.path)
	}
	for _, v := range m.versions {
		switch name := m.path + "@" + v.name; {
		case errors.Is(v.err, errUnserved):
			r.gone = append(r.gone, name)
		case v.err != nil:
			r.unreadable = append(r.unreadable, name)
		case v.time.Unix() > now.Unix()+day:
			r.future = append(r.future, name)
		default:
			versions = append(versions, v)
		}
	}
	return versions
}

// count counts what is in the history.
func (r *releases) count() {
	seconds := map[float64]int{}
	for _, times := range r.history.Times {
		if len(times) == 0 {
			r.quiet++
		}
		for _, at := range times {
			seconds[at]++
		}
		r.changes += len(times)
	}
	for _, n := range seconds {
		if n >= crowd {
			r.crowded += n
		}
	}
	r.first, r.last, _ = r.history.Span()
}

// check reports that there is nothing to write.
func (r *releases) check() error {
	switch {
	case r.history.Len() == 0:
		return errors.New("the proxy serves no version of any module: there is no history")
	case r.changes == 0:
		return fmt.Errorf("no %s has a %s: there is no history", r.of.page, r.of.change)
	}
	return nil
}

// days is the time from the first release to the last.
func (r *releases) days() float64 { return (r.last - r.first) / day }

// budget is how many polls an hour are pollsOfAPage polls of each page, with three digits that
// count, and 0 if the history has no length.
func (r *releases) budget() float64 {
	if r.first == r.last {
		return 0
	}
	budget := pollsOfAPage * float64(r.history.Len()) / (r.days() * 24)
	short, err := strconv.ParseFloat(strconv.FormatFloat(budget, 'e', 2, 64), 64)
	if err != nil {
		panic(err) // it was formatted
	}
	return short
}

// text is the summary. file is where the history is.
func (r *releases) text(file string) string {
	var b strings.Builder
	date := func(at float64) string { return time.Unix(int64(at), 0).UTC().Format(time.DateOnly) }
	fmt.Fprintf(&b, "releases: %s with %s in %s, %s to %s\n",
		count(r.history.Len(), r.of.page), count(r.changes, r.of.change), count(int(math.Round(r.days())), "day"), date(r.first), date(r.last))
	fmt.Fprintf(&b, "releases: %s without a %s; %.1f %% of the %ss share their second with four others or more\n",
		count(r.quiet, r.of.page), r.of.change, 100*float64(r.crowded)/float64(r.changes), r.of.change)
	budget := r.budget()
	if budget == 0 {
		fmt.Fprintf(&b, "releases: all at the same time: recrawl replays %ss of two times at least\n", r.of.change)
		return b.String()
	}
	text := strconv.FormatFloat(budget, 'f', -1, 64)
	fmt.Fprintf(&b, "releases: %s polls an hour are %d polls of each %s in that time:\n  go run ./examples/recrawl -trace %s -budget %s\n",
		text, pollsOfAPage, r.of.page, report.Quote(file), text)
	return b.String()
}

// rows is the summary for machines.
func (r *releases) rows() []report.Row {
	row := func(quantity, unit string, v float64) report.Row {
		return report.Row{Source: "recrawl", Item: "releases", Quantity: quantity, Unit: unit, Measured: v, Runs: 1}
	}
	pages, changes := r.of.page+"s", r.of.change+"s"
	rows := []report.Row{
		row(pages, pages, float64(r.history.Len())),
		row(changes, changes, float64(r.changes)),
		row("time from the first to the last", "days", r.days()),
		row(changes+" that share their second with four others or more, of all", "1", float64(r.crowded)/float64(r.changes)),
		row(pages+" without a "+r.of.change, pages, float64(r.quiet)),
		row("modules not served", "modules", float64(len(r.unserved))),
		row("modules of which versions are missing", "modules", float64(len(r.cut))),
		row("versions left out", "versions", float64(len(r.unreadable)+len(r.gone)+len(r.future))),
	}
	if budget := r.budget(); budget > 0 {
		rows = append(rows, row(fmt.Sprintf("budget that is %d polls of each %s", pollsOfAPage, r.of.page), "polls per hour", budget))
	}
	return rows
}
