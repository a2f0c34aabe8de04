package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/recrawl/recrawl/examples/internal/report"
)

// logFormat is the help on the file of -log.
const logFormat = `Logs for -log:
  A header names the columns url, time and changed, in any order and among others. Below
  it is a line for each poll. Commas, tabs or semicolons separate the columns.
  url      whatever names the page; "in quotes" if it has a separator in it
  time     Unix seconds or milliseconds, or RFC 3339 (2026-03-01T12:00:00Z), the same in
           all lines; the zone may be short (+01, +0100) or UTC, and times without one are
           taken for UTC; the lines may be in any order
  changed  whether the page changed since the poll before: 1 or 0, true or false, yes or
           no, t or f, y or n
  The first poll of a page is its first copy, and its changed may be blank or NULL. All
  polls that found no change must be in the log, too. Leave out polls that failed:
  they say nothing about changes. Blank lines, and lines above the header that begin
  with #, are skipped. The file may be gzipped.`

// A crawlLog is what a crawler has written down of its polls.
type crawlLog struct {
	urls  []string
	polls [][]logged // of each page, in the order of their times, which differ; pages in that of their first
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
			return nil, fmt.Errorf("%s: %w", file, cutOff(err))
		}
		text = bufio.NewReader(unzipped)
	}
	header, above, err := headerLine(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	separator, columns, err := readHeader(header)
	if err != nil {
		return nil, fmt.Errorf("%s:%d: %w", file, above+1, err)
	}
	limited := &rowReader{Reader: text}
	rows := csv.NewReader(limited)
	rows.Comma, rows.ReuseRecord, rows.TrimLeadingSpace = separator, true, separator != '\t'
	rows.FieldsPerRecord = columns.count
	b := logBuilder{columns: columns, pages: map[string]int{}}
	for before := above + 1; ; {
		limited.left = maxRow
		record, err := rows.Read()
		if err == io.EOF {
			break
		}
		line := above + 1
		if parse := new(csv.ParseError); errors.As(err, &parse) {
			line += parse.StartLine
			if err = parse.Err; err == csv.ErrFieldCount {
				if len(record) == 1 && strings.TrimSpace(record[0]) == "" {
					continue // a line of blanks
				}
				err = fmt.Errorf("%d fields under a header of %d", len(record), columns.count)
			}
		} else if err == nil {
			start, _ := rows.FieldPos(0)
			line += start
			before, err = line, b.add(record, line)
		} else if err == errRow {
			line = before
		} else { // of the file, after any of its lines
			return nil, fmt.Errorf("%s: %w", file, cutOff(err))
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, line, err)
		}
	}
	if blank, ok := b.unknown(); ok {
		return nil, fmt.Errorf("%s:%d: changed is blank, which it may be at the first poll of a page only; polls that failed are to be left out", file, blank.line)
	}
	l, err := b.log()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return l, nil
}

// cutOff says in words that a gzipped file, or one that seems to follow it, ends too early.
func cutOff(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the gzipped file is cut off, or has something else behind it")
	}
	return err
}

// maxHeader is the length in bytes of the longest header that is read. It keeps a file without
// line breaks from filling the memory.
const maxHeader = 1 << 16

// maxRow is the same for a row. A quote that is never closed makes one row of the rest of the file.
const maxRow = 1 << 22

var errRow = fmt.Errorf("the row behind this one is longer than %d MB: is a quote open?", maxRow>>20)

// A rowReader reads no more than what is left of a row, and what the reader of rows reads ahead.
type rowReader struct {
	io.Reader
	left int
}

func (r *rowReader) Read(p []byte) (n int, err error) {
	if r.left <= 0 {
		return 0, errRow
	}
	n, err = r.Reader.Read(p)
	r.left -= n
	return n, err
}

// headerLine reads the first line that is neither blank nor a comment, and says how many are
// above it.
func headerLine(text *bufio.Reader) (line string, above int, err error) {
	for ; ; above++ {
		var b []byte
		for err == nil && len(b) < maxHeader && !bytes.HasSuffix(b, []byte("\n")) {
			var c byte
			if c, err = text.ReadByte(); err == nil {
				b = append(b, c)
			}
		}
		if err != nil && err != io.EOF {
			return "", above, cutOff(err)
		}
		line = strings.TrimRight(string(b), "\r\n")
		if above == 0 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		if start := strings.TrimSpace(line); err != nil || start != "" && start[0] != '#' {
			return line, above, nil
		}
	}
}

// short quotes a text, and no more of it than fits in a line.
func short(s string) string {
	const most = 80
	if len(s) > most {
		return strconv.Quote(s[:most]) + "…"
	}
	return strconv.Quote(s)
}

// hint says what a file may be whose header names no columns.
func hint(header string) string {
	switch start := strings.TrimSpace(header); {
	case strings.HasPrefix(start, "{"), strings.HasPrefix(start, "["):
		return ": is it JSON? It must have a line of url,time,changed, and one for each poll"
	case noText(start) != "":
		return noText(start)
	case strings.ContainsRune(header, '\r'):
		return ": its lines end in CR, and must end in LF or CR LF"
	}
	return ""
}

// noText says what a file may be that begins so and is no text in UTF-8.
func noText(start string) string {
	switch utf16 := strings.HasPrefix(start, "\xff\xfe") || strings.HasPrefix(start, "\xfe\xff"); {
	case strings.HasPrefix(start, "PK\x03\x04"):
		return ": is it a workbook, or a zip archive? It must be CSV"
	case strings.HasPrefix(start, "\x1f\x8b"):
		return ": is it gzipped twice?"
	case utf16, utf8.ValidString(start) && strings.ContainsRune(start, 0):
		return ": is it UTF-16? It must be UTF-8"
	case strings.ContainsRune(start, 0):
		return ": is it text? It must be UTF-8"
	}
	return ""
}

// A logHeader says in which columns of the file the columns are.
type logHeader struct{ url, time, changed, count int }

// readHeader finds out by which character a header is separated, and where its columns
// are.
func readHeader(line string) (separator rune, found logHeader, err error) {
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
	if best == 0 && len(strings.TrimSpace(line)) == 0 {
		return 0, found, errors.New("there is no header: the file is empty, or begins with a blank line")
	}
	if best == 0 {
		return 0, found, fmt.Errorf("the header %s does not name url, time and changed with commas, tabs or semicolons between them%s", short(line), hint(line))
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
			return 0, found, fmt.Errorf("the header names no column %q, only %s%s", name, short(strings.Join(names, ", ")), hint(line))
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
	blanks  []blank
}

// A blank is a poll that does not say whether its page had changed.
type blank struct {
	page int
	stamp
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
		return fmt.Errorf("time %s is in %s, those above are in %s", short(record[b.columns.time]), unit, b.unit)
	}
	text := strings.TrimSpace(record[b.columns.changed])
	blankChanged := text == "" || strings.EqualFold(text, "NULL") || text == `\N` // as MySQL writes NULL
	changed, err := parseChanged(text)
	if err != nil && !blankChanged {
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
	if blankChanged {
		b.blanks = append(b.blanks, blank{page, stamp{at, line}})
	}
	return nil
}

// unknown returns the first blank that is not of a page's first poll.
func (b *logBuilder) unknown() (blank, bool) {
	first := make([]float64, len(b.polls)) // poll of each page
	for page, polls := range b.polls {
		first[page] = polls[0].time
		for _, p := range polls {
			first[page] = min(first[page], p.time)
		}
	}
	for _, blank := range b.blanks {
		if first[blank.page] < blank.time {
			return blank, true
		}
	}
	return blank{}, false
}

// noZone is the unit of times that name no zone.
const noZone = "RFC 3339 without a zone"

// parseTime reads a time, and says how it was written.
func parseTime(s string) (seconds float64, unit string, err error) {
	v, err := strconv.ParseFloat(s, 64)
	switch {
	case err == nil && math.Abs(v) < 1e11: // until the year 5138
		return v, "seconds", nil
	case err == nil && math.Abs(v) < 1e14: // from 1973 on
		return v / 1000, "milliseconds", nil
	case err == nil && !math.IsNaN(v):
		return 0, "", fmt.Errorf("time %s is too great for Unix seconds or milliseconds", short(s))
	}
	// It also allows small letters, and a space between date and time (section 5.6).
	date := strings.Replace(strings.ToUpper(s), " ", "T", 1)
	t, err := time.Parse(time.RFC3339, date)
	for _, zone := range []string{"Z07", "Z0700", " UTC"} { // as Postgres, strftime and BigQuery write zones
		if err != nil {
			t, err = time.Parse("2006-01-02T15:04:05"+zone, date)
		}
	}
	unit = "RFC 3339"
	if err != nil { // as SQLite and MySQL write times
		t, err = time.Parse("2006-01-02T15:04:05", date)
		unit = noZone
	}
	if err != nil {
		return 0, "", fmt.Errorf("time %s is neither Unix seconds or milliseconds nor RFC 3339, such as 2025-12-31T23:59:59Z", short(s))
	}
	return float64(t.Unix()) + float64(t.Nanosecond())/1e9, unit, nil
}

func parseChanged(s string) (bool, error) {
	switch strings.ToLower(s) {
	case "1", "1.0", "true", "t", "yes", "y": // 1.0 where blanks made a column of floats
		return true, nil
	case "0", "0.0", "false", "f", "no", "n":
		return false, nil
	}
	return false, fmt.Errorf("changed %s is neither 1 nor 0, true nor false, yes nor no", short(s))
}

// shortestGap is the shortest time between two polls of a page, in seconds. Those of less have one time in
// milliseconds. Rates are divided by gaps, and changes are drawn within them.
const shortestGap = 0.0005

// log returns what was read, page by page.
func (b *logBuilder) log() (*crawlLog, error) {
	l := &crawlLog{}
	once, same, disagree := 0, 0, 0
	for page, polls := range b.polls {
		slices.SortStableFunc(polls, func(p, q logged) int { return cmp.Compare(p.time, q.time) })
		kept := polls[:1]
		for _, p := range polls[1:] {
			if last := &kept[len(kept)-1]; p.time-last.time < shortestGap {
				if len(kept) > 1 && last.changed != p.changed { // of the first it does not matter
					disagree++
				}
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
	sort.Stable(byFirstPoll{l})
	if len(b.polls) == 0 {
		return nil, errors.New("no polls below the header")
	}
	if len(l.polls) == 0 {
		return nil, fmt.Errorf("no page was polled at two times: %s from %v to %v", report.Count(len(b.polls), "page"), b.first, b.last)
	}
	if once > 0 {
		l.notes = append(l.notes, "left out: "+report.Count(once, "page")+" polled only once, of whose changes nothing is known")
	}
	if same > 0 {
		l.notes = append(l.notes, "left out: "+report.Count(same, "poll")+" of the same page at the same time as another, with which they count as one")
	}
	if disagree > 0 {
		l.notes = append(l.notes, report.Count(disagree, "poll")+" said 0 where another of the same page at the same time said 1, or the reverse: the page counts as changed")
	}
	if b.unit == noZone {
		l.notes = append(l.notes, "the times name no zone, and are taken for UTC")
	}
	l.checkSpan(b.first, b.last)
	l.checkBunches()
	return l, nil
}

// byFirstPoll sorts the pages of a log.
type byFirstPoll struct{ *crawlLog }

func (l byFirstPoll) Len() int           { return len(l.urls) }
func (l byFirstPoll) Less(i, j int) bool { return l.polls[i][0].time < l.polls[j][0].time }
func (l byFirstPoll) Swap(i, j int) {
	l.urls[i], l.urls[j] = l.urls[j], l.urls[i]
	l.polls[i], l.polls[j] = l.polls[j], l.polls[i]
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

// A log comes in bunches if its polls leave most of the time, in several breaks, each of which
// is longer than so many mean intervals between polls.
const breakIntervals, fewestBreaks = 20, 3

// checkBunches notes polls in bunches, as of a crawl every night: policies keep to their times.
func (l *crawlLog) checkBunches() {
	times := l.repeated()
	all := times[len(times)-1] - times[0]
	breaks, sum := 0, 0.0
	for k, at := range times[1:] {
		if gap := at - times[k]; gap > breakIntervals*all/float64(len(times)-1) {
			breaks++
			sum += gap
		}
	}
	if breaks >= fewestBreaks && sum > all/2 {
		l.notes = append(l.notes, fmt.Sprintf("the polls come in bunches, with breaks of %.0f %% of the time: policies poll at the same times, so that what is won by spreading polls over the day is not counted", 100*sum/all))
	}
}

// spanText says a time in seconds in the unit that suits it.
func spanText(seconds float64) string {
	switch {
	case seconds >= 999.5*365*day:
		return fmt.Sprintf("%.0f years", seconds/(365*day))
	case seconds >= 2*365*day:
		return fmt.Sprintf("%.3g years", seconds/(365*day))
	case seconds >= 2*day:
		return fmt.Sprintf("%.0f days", seconds/day)
	case seconds >= 2*hour:
		return fmt.Sprintf("%.3g hours", seconds/hour)
	case seconds >= 120:
		return fmt.Sprintf("%.0f minutes", seconds/60)
	case seconds == 1:
		return "1 second"
	default:
		return fmt.Sprintf("%.3g seconds", seconds)
	}
}
