package main

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// logFormat is the help on the file of -log.
const logFormat = `Logs for -log:
  One line for each poll, and above them a header that names the columns url, time and
  changed, in any order and among others; separated by commas, tabs or semicolons.
  url      whatever names the page; "in quotes" if it has a separator in it
  time     Unix seconds or milliseconds, or RFC 3339 (2026-03-01T12:00:00Z), the same in
           all lines; the lines may be in any order
  changed  since the poll before: 1 or 0, true or false, yes or no, t or f, y or n
  The first poll of a page is its first copy. The file may be gzipped.`

// A crawlLog is what a crawler has written down of its polls.
type crawlLog struct {
	urls  []string
	polls [][]logged // of each page, in the order of their times, which differ
	notes []string   // what the reader should know
}

// A logged poll of a page.
type logged struct {
	time    float64 // in Unix seconds
	changed bool
}

// logColumns are the columns that a log must have.
var logColumns = []string{"url", "time", "changed"}

// readLog reads a log, which may be gzipped. file is its name in error messages, which
// begin with "file:line: ".
func readLog(r io.Reader, file string) (*crawlLog, error) {
	text := bufio.NewReader(r)
	if magic, _ := text.Peek(2); string(magic) == "\x1f\x8b" {
		unzipped, err := gzip.NewReader(text)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		text = bufio.NewReader(unzipped)
	}
	header, err := text.ReadString('\n')
	if err != nil && err != io.EOF {
		return nil, fmt.Errorf("%s:1: %w", file, err)
	}
	separator, columns, err := readHeader(header)
	if err != nil {
		return nil, fmt.Errorf("%s:1: %w", file, err)
	}
	rows := csv.NewReader(text)
	rows.Comma, rows.ReuseRecord, rows.TrimLeadingSpace = separator, true, separator != '\t'
	rows.FieldsPerRecord = columns.count
	b := logBuilder{columns: columns, pages: map[string]int{}}
	for {
		record, err := rows.Read()
		if err == io.EOF {
			break
		}
		line := 1
		if parse := new(csv.ParseError); errors.As(err, &parse) {
			line += parse.StartLine
			if err = parse.Err; err == csv.ErrFieldCount {
				err = fmt.Errorf("%d fields under a header of %d", len(record), columns.count)
			}
		} else if err == nil {
			start, _ := rows.FieldPos(0)
			line += start
			err = b.add(record, line)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, line, err)
		}
	}
	l, err := b.log()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return l, nil
}

// A logHeader says in which columns of the file the columns are.
type logHeader struct{ url, time, changed, count int }

// readHeader finds out by which character a header is separated, and where its columns
// are.
func readHeader(line string) (separator rune, found logHeader, err error) {
	line = strings.TrimRight(strings.TrimPrefix(line, "\ufeff"), "\r\n")
	var names []string
	best := 0
	for _, c := range ",\t;" {
		r := csv.NewReader(strings.NewReader(line))
		r.Comma, r.TrimLeadingSpace = c, c != '\t'
		fields, err := r.Read()
		if err != nil {
			continue
		}
		known := 0
		for k := range fields {
			fields[k] = strings.ToLower(strings.TrimSpace(fields[k]))
			if slices.Contains(logColumns, fields[k]) {
				known++
			}
		}
		if known > best && len(fields) > 1 {
			separator, names, best = c, fields, known
		}
	}
	if best == 0 {
		return 0, found, fmt.Errorf("the header %q does not name url, time and changed with commas, tabs or semicolons between them", line)
	}
	at := map[string]int{}
	for k, name := range names {
		if _, twice := at[name]; twice && slices.Contains(logColumns, name) {
			return 0, found, fmt.Errorf("the header names %q twice", name)
		}
		at[name] = k
	}
	for _, name := range logColumns {
		if _, ok := at[name]; !ok {
			return 0, found, fmt.Errorf("the header names no column %q, only %s", name, strings.Join(names, ", "))
		}
	}
	return separator, logHeader{at["url"], at["time"], at["changed"], len(names)}, nil
}

// A logBuilder takes in the rows of a log.
type logBuilder struct {
	columns logHeader
	pages   map[string]int
	polls   [][]logged
	urls    []string
	unit    string // of the times, by the first
	first   stamp  // the earliest of all times
	last    stamp  // the latest
}

// A stamp is a time, and the line where it stands.
type stamp struct {
	time float64
	line int
}

func (s stamp) String() string {
	return fmt.Sprintf("%s (line %d)", time.Unix(int64(s.time), 0).UTC().Format("2006-01-02 15:04:05"), s.line)
}

// add takes in a row.
func (b *logBuilder) add(record []string, line int) error {
	url := strings.TrimSpace(record[b.columns.url])
	if url == "" {
		return errors.New("the url is blank")
	}
	at, unit, err := parseTime(strings.TrimSpace(record[b.columns.time]))
	switch {
	case err != nil:
		return err
	case b.unit == "":
		b.unit, b.first, b.last = unit, stamp{at, line}, stamp{at, line}
	case unit != b.unit:
		return fmt.Errorf("time %q is in %s, those above are in %s", record[b.columns.time], unit, b.unit)
	}
	changed, err := parseChanged(strings.TrimSpace(record[b.columns.changed]))
	if err != nil {
		return err
	}
	if at < b.first.time {
		b.first = stamp{at, line}
	}
	if at > b.last.time {
		b.last = stamp{at, line}
	}
	page, ok := b.pages[url]
	if !ok {
		page = len(b.pages)
		url = strings.Clone(url) // lets the row go
		b.pages[url] = page
		b.urls = append(b.urls, url)
		b.polls = append(b.polls, nil)
	}
	b.polls[page] = append(b.polls[page], logged{at, changed})
	return nil
}

// parseTime reads a time, and says how it was written.
func parseTime(s string) (seconds float64, unit string, err error) {
	v, err := strconv.ParseFloat(s, 64)
	switch {
	case err == nil && math.Abs(v) < 1e11: // until the year 5138
		return v, "seconds", nil
	case err == nil && math.Abs(v) < 1e14: // from 1973 on
		return v / 1000, "milliseconds", nil
	case err == nil:
		return 0, "", fmt.Errorf("time %q is too great for Unix seconds or milliseconds", s)
	}
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return 0, "", fmt.Errorf("time %q is neither Unix seconds or milliseconds nor RFC 3339", s)
	}
	return float64(t.Unix()) + float64(t.Nanosecond())/1e9, "RFC 3339", nil
}

func parseChanged(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "1", "true", "t", "yes", "y":
		return true, nil
	case "0", "false", "f", "no", "n":
		return false, nil
	}
	return false, fmt.Errorf("changed %q is neither 1 nor 0, true nor false, yes nor no", s)
}

// log returns what was read, page by page.
func (b *logBuilder) log() (*crawlLog, error) {
	l := &crawlLog{}
	once, same := 0, 0
	for page, polls := range b.polls {
		slices.SortStableFunc(polls, func(p, q logged) int { return cmp.Compare(p.time, q.time) })
		kept := polls[:1]
		for _, p := range polls[1:] {
			if last := &kept[len(kept)-1]; p.time == last.time {
				last.changed = last.changed || p.changed
				same++
				continue
			}
			kept = append(kept, p)
		}
		if len(kept) == 1 {
			once++
			continue
		}
		l.urls = append(l.urls, b.urls[page])
		l.polls = append(l.polls, kept)
	}
	if len(b.polls) == 0 {
		return nil, errors.New("no polls below the header")
	}
	if len(l.polls) == 0 {
		return nil, fmt.Errorf("no page was polled at two times: there are %d pages from %v to %v", len(b.polls), b.first, b.last)
	}
	l.note(once, "%d pages were polled once only and are left out: nothing is known of their changes")
	l.note(same, "%d polls are of the same page at the same time as another, and count as one with it")
	l.checkSpan(b.first, b.last)
	return l, nil
}

func (l *crawlLog) note(count int, text string) {
	if count > 0 {
		l.notes = append(l.notes, fmt.Sprintf(text, count))
	}
}

// A log whose times lie outside of these years, or that is shorter or longer than these
// spans, has its times in another unit, or a wrong one among them.
const (
	earliestYear, latestYear = 1990, 2100
	shortestSpan             = hour
	longestSpan              = 30 * 365 * day
)

// checkSpan notes a span that makes no sense.
func (l *crawlLog) checkSpan(first, last stamp) {
	year := func(s stamp) int { return time.Unix(int64(s.time), 0).UTC().Year() }
	span := last.time - first.time
	if year(first) < earliestYear || year(last) > latestYear || span < shortestSpan || span > longestSpan {
		l.notes = append(l.notes, fmt.Sprintf("the log goes from %v to %v, which is %s: are all times right, and in Unix seconds, milliseconds or RFC 3339?",
			first, last, spanText(span)))
	}
}

// spanText says a time in seconds in the unit that suits it.
func spanText(seconds float64) string {
	switch {
	case seconds >= 2*365*day:
		return fmt.Sprintf("%.3g years", seconds/(365*day))
	case seconds >= 2*day:
		return fmt.Sprintf("%.0f days", seconds/day)
	case seconds >= 2*hour:
		return fmt.Sprintf("%.3g hours", seconds/hour)
	default:
		return fmt.Sprintf("%.3g seconds", seconds)
	}
}
