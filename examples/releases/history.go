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

	unserved, cut            []string // modules
	unreadable, gone, future []string // versions

	releases, crowded, quiet int
	first, last              float64 // releases
}

// assemble forms the history of the modules: the releases of a number of days before the last one,
// to the second. Modules are in ascending order of their paths.
func assemble(modules []listing, days int, now time.Time) *releases {
	r := &releases{history: new(webenv.History), last: math.Inf(-1)}
	latest := float64(now.Unix() + day)
	for _, m := range modules {
		if !m.served {
			r.unserved = append(r.unserved, m.path)
			continue
		}
		var times []float64
		for _, v := range m.versions {
			at, name := float64(v.time.Unix()), m.path+"@"+v.name
			switch {
			case errors.Is(v.err, errUnserved):
				r.gone = append(r.gone, name)
			case v.err != nil:
				r.unreadable = append(r.unreadable, name)
			case at > latest:
				r.future = append(r.future, name)
			default:
				times = append(times, at)
				r.last = max(r.last, at)
			}
		}
		slices.Sort(times)
		r.history.Names = append(r.history.Names, m.path)
		r.history.Times = append(r.history.Times, slices.Compact(times))
	}
	begin := r.last - float64(days)*day
	more := make(map[string]bool, len(modules))
	for _, m := range modules {
		more[m.path] = m.more
	}
	seconds := map[float64]int{}
	for page, times := range r.history.Times {
		kept := times
		for len(kept) > 0 && kept[0] < begin {
			kept = kept[1:]
		}
		if name := r.history.Names[page]; more[name] {
			r.cut = append(r.cut, name)
		}
		if len(kept) == 0 {
			r.quiet++
		}
		for _, at := range kept {
			seconds[at]++
		}
		r.releases += len(kept)
		r.history.Times[page] = kept
	}
	for _, n := range seconds {
		if n >= crowd {
			r.crowded += n
		}
	}
	r.first, r.last, _ = r.history.Span()
	return r
}

// check reports that there is nothing to write.
func (r *releases) check() error {
	switch {
	case r.history.Len() == 0:
		return errors.New("the proxy serves none of the modules: there is no history")
	case r.releases == 0:
		return errors.New("no module has a release: there is no history")
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
		count(r.history.Len(), "module"), count(r.releases, "release"), count(int(math.Round(r.days())), "day"), date(r.first), date(r.last))
	fmt.Fprintf(&b, "releases: %s without a release; %.1f %% of the releases share their second with four others or more\n",
		count(r.quiet, "module"), 100*float64(r.crowded)/float64(r.releases))
	budget := r.budget()
	if budget == 0 {
		b.WriteString("releases: all at the same time: recrawl replays releases of two times at least\n")
		return b.String()
	}
	text := strconv.FormatFloat(budget, 'f', -1, 64)
	fmt.Fprintf(&b, "releases: %s polls an hour are %d polls of each module in that time:\n  go run ./examples/recrawl -trace %s -budget %s\n",
		text, pollsOfAPage, report.Quote(file), text)
	return b.String()
}

// rows is the summary for machines.
func (r *releases) rows() []report.Row {
	row := func(quantity, unit string, v float64) report.Row {
		return report.Row{Source: "recrawl", Item: "releases", Quantity: quantity, Unit: unit, Measured: v, Runs: 1}
	}
	rows := []report.Row{
		row("modules", "modules", float64(r.history.Len())),
		row("releases", "releases", float64(r.releases)),
		row("time from the first to the last", "days", r.days()),
		row("releases that share their second with four others or more, of all", "1", float64(r.crowded)/float64(r.releases)),
		row("modules without a release", "modules", float64(r.quiet)),
		row("modules not served", "modules", float64(len(r.unserved))),
		row("modules of which versions are missing", "modules", float64(len(r.cut))),
		row("versions left out", "versions", float64(len(r.unreadable)+len(r.gone)+len(r.future))),
	}
	if budget := r.budget(); budget > 0 {
		rows = append(rows, row(fmt.Sprintf("budget that is %d polls of each module", pollsOfAPage), "polls per hour", budget))
	}
	return rows
}
