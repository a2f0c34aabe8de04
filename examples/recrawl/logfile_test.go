package main

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestReadLogByHand(t *testing.T) {
	t.Parallel()
	want := [][]logged{{{1700000000, false}, {1700003600, true}}, {{1700000060, true}, {1700007200, false}}}
	for name, text := range map[string]string{
		"plain":        "url,time,changed\na,1700000000,0\n\"b,c\",1700000060,1\na,1700003600,1\n\"b,c\",1700007200,0\n",
		"any order":    "url,time,changed\na,1700003600,1\n\"b,c\",1700007200,0\na,1700000000,0\n\"b,c\",1700000060,1\n",
		"columns":      "status,Changed, TIME ,url\r\n200,no,1700000000,a\r\n200,YES,1700000060,\"b,c\"\r\n304,t,1700003600,a\r\n200,f,1700007200,\"b,c\"\r\n",
		"milliseconds": "time;url;changed\n1700000000000;a;false\n1700000060000;b,c;true\n1700003600000;a;true\n1700007200000;b,c;false\n",
		"Postgres":     "url,time,changed\na,2023-11-14 22:13:20.000+00,f\n\"b,c\",2023-11-15 03:44:20+0530,t\na,2023-11-14 22:13:20-01,t\n\"b,c\",2023-11-15 00:13:20+00,f",
		"BigQuery":     "url,time,changed\na,2023-11-14 22:13:20 UTC,NULL\n\"b,c\",2023-11-14 22:14:20.000 UTC,true\na,2023-11-14 23:13:20 UTC,true\n\"b,c\",2023-11-15 00:13:20 UTC,false",
		"pandas":       "url,time,changed\na,1700000000.0,\n\"b,c\",1700000060.0,1.0\n  \na,1700003600.0,1.0\n\t\n\"b,c\",1700007200.0,0.0\n",
		"MySQL":        "url\ttime\tchanged\na\t2023-11-14 22:13:20\t\\N\nb,c\t2023-11-14 22:14:20\t1\na\t2023-11-14 23:13:20\t1\nb,c\t2023-11-15T00:13:20.000\t0",
		"RFC 3339":     "\ufefftime\turl\tchanged\n2023-11-14T22:13:20Z\ta\tn\n2023-11-14 23:14:20+01:00\tb,c\ty\n2023-11-14t23:13:20z\ta\ty\n2023-11-15T00:13:20Z\tb,c\tn",
		"comments":     "\ufeff# polls of a day\n\n \n#more\nurl,time,changed\na,1700000000,\n\n\"b,c\",1700000060, true \na,1700003600,1\n\"b,c\",1700007200,0\n",
		"twice":        "url,time,changed\na,1700000000,0\n\"b,c\",1700000060,1\na,1700003600,0\na,1700003600,1\n\"b,c\",1700007200,0\n",
		"agree":        "url,time,changed\na,1700000000,0\na,1700000000,0\n\"b,c\",1700000060,0\n\"b,c\",1700000060,1\na,1700003600,1\na,1700003600,1\n\"b,c\",1700007200,0\n",
		"once":         "url,time,changed\na,1700000000,0\nx,1700000000,0\n\"b,c\",1700000060,1\na,1700003600,1\n\"b,c\",1700007200,0\n",
	} {
		l, err := readLog(strings.NewReader(text), name)
		require.NoError(t, err, name)
		require.Equal(t, []string{"a", "b,c"}, l.urls, name)
		require.Equal(t, want, l.polls, name)
		switch name {
		case "twice":
			require.Equal(t, []string{
				"left out: 1 poll of the same page at the same time as another, with which they count as one",
				"1 poll said 0 where another of the same page at the same time said 1, or the reverse: the page counts as changed",
			}, l.notes)
		case "agree":
			require.Equal(t, []string{"left out: 3 polls of the same page at the same time as another, with which they count as one"}, l.notes)
		case "once":
			require.Equal(t, []string{"left out: 1 page polled only once, of whose changes nothing is known"}, l.notes)
		case "MySQL":
			require.Equal(t, []string{"the times name no zone, and are taken for UTC"}, l.notes)
		default:
			require.Empty(t, l.notes, name)
		}
	}
}

func TestReadLogErrors(t *testing.T) {
	t.Parallel()
	const header = "url,time,changed\n"
	for text, want := range map[string]string{
		"":                                  `file:1: there is no header: the file is empty`,
		"url|time|changed\n":                `file:1: the header "url|time|changed" does not name url, time and changed with commas, tabs or semicolons`,
		"page,time,changed\n":               `file:1: the header names no column "url", only "page, time, changed"`,
		"url,time,time,changed\n":           `file:1: the header names "time" twice`,
		header:                              "file: no polls below the header",
		header + "a,1,0\nb,2,0\n":           "file: no page was polled at two times: 2 pages from 1970-01-01 00:00:01 (line 2) to 1970-01-01 00:00:02 (line 3)",
		header + "a,1,0\n\na,yesterday,0\n": `file:4: time "yesterday" is neither`,
		header + "a,1e15,0\n":               `file:2: time "1e15" is too great`,
		header + "a,NaN,0\n":                `file:2: time "NaN" is neither Unix seconds or milliseconds nor RFC 3339`,
		header + "a,,0\n":                   `file:2: time "" is neither`,
		header + "a,2023-11-14 22:13:20Z,0\na,2023-11-14 22:13:20,0\n": `file:3: time "2023-11-14 22:13:20" is in RFC 3339 without a zone, those above are in RFC 3339`,
		header + "a,2023-11-14,0\n":                                    `file:2: time "2023-11-14" is neither`,
		header + "a,2023-11-14 22:13:20 CET,0\n":                       `file:2: time "2023-11-14 22:13:20 CET" is neither`,
		header + "a,1700000000,0\na,1.7e12,0":                          `file:3: time "1.7e12" is in milliseconds, those above are in seconds`,
		header + "a,1,0\na,2,304\n":                                    `file:3: changed "304" is neither`,
		header + "a,1,0\n ,2,0\n":                                      "file:3: the url is blank",
		header + "a,1,0\na,2\n":                                        "file:3: 2 fields under a header of 3",
		header + "a,1,0\na?x,y,2,0\n":                                  "file:3: 4 fields under a header of 3",
		header + "a,1,0\n\"b,2,0\nc,3,0\n":                             `file:3: extraneous or missing " in quoted-field`,
		"\x1f\x8bnonsense":                                             "file: ",
		"# polls\n\n" + header + "a,1,0\na,2\n":                        "file:5: 2 fields under a header of 3",
		header + "a,2,1\na,1,0\nb,1,\na,3,\nb,2,":                      "file:5: changed is blank",
		"\xff\xfeu\x00r\x00l\x00,\x00":                                 "commas, tabs or semicolons between them: is it UTF-16? It must be UTF-8",
		"\xfe\xff\x00u\x00r\x00l\x00,":                                 ": is it UTF-16? It must be UTF-8",
		"\x00u\x00r\x00l\x00,\x00t\x00i\x00m\x00e\n":                   ": is it UTF-16? It must be UTF-8",
		"PK\x03\x04\x14\x00\x00\x00\b\x00":                             `: is it a workbook, or a zip archive? It must be CSV`,
		"BZh91AY&SYS\xeb\x1e\x00":                                      `: is it text? It must be UTF-8`,
		header + "a,0,0\na,5e-324,1\n":                                 "file: no page was polled at two times: 1 page",
		header + "a,9e10,0\na,90000000000.00002,1\n":                   "file: no page was polled at two times: 1 page",
		"\n[{\"url\": \"a\"}]\n":                                       `file:2: the header "[{\"url\": \"a\"}]" does not name url, time and changed with commas, tabs or semicolons between them: is it JSON?`,
		"url,time,changed\ra,1,0\ra,2,0\r":                             `only "url, time, changed\ra, 1, 0\ra, 2, 0": its lines end in CR`,
		header + "a," + strings.Repeat("\x1b", 1e6) + ",0\n":           `file:2: time "` + strings.Repeat(`\x1b`, 80) + `"… is neither`,
	} {
		_, err := readLog(strings.NewReader(text), "file")
		require.ErrorContains(t, err, want, text)
		require.Less(t, len(err.Error()), 500)
	}
	_, err := readLog(&endless{}, "file")
	require.ErrorContains(t, err, `file:1: the header "aaaa`)
	require.Less(t, len(err.Error()), 200)
	for _, row := range []string{"a,1,0\n\nb,\"", "a,1,0\n\nb,", "a,1,0\n\n\""} {
		_, err := readLog(io.MultiReader(strings.NewReader(header+row), &endless{read: -2 * maxRow}), "file")
		require.EqualError(t, err, "file:2: the row behind this one is longer than 4 MB: is a quote open?")
	}
}

// endless is a file of one line, which ends in an error after some more than a header may have.
type endless struct{ read int }

func (e *endless) Read(p []byte) (int, error) {
	if e.read += len(p); e.read > 2*maxHeader {
		return 0, errors.New("too much was read")
	}
	for k := range p {
		p[k] = 'a'
	}
	return len(p), nil
}

// A log takes no longer where one page has all polls, at one time, and none says what it found: comparing each
// with each would be more than a test has time for.
func TestReadLogOfOneTime(t *testing.T) {
	t.Parallel()
	rows := 2_000_000
	if testing.Short() {
		rows = 200_000
	}
	l, err := readLog(strings.NewReader("url,time,changed\n"+strings.Repeat("a,1700000000,\n", rows)+"a,1700003600,0\n"), "file")
	require.NoError(t, err)
	require.Len(t, l.polls[0], 2)
}

// A gzipped file that is cut off anywhere is said to be, and its lines are not blamed.
func TestReadLogCutOff(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long")
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := io.WriteString(z, "url,time,changed\n")
	require.NoError(t, err)
	for k := range 1000 {
		_, err := fmt.Fprintf(z, "page %d,%d,1\n", k*k*k%997, 1_700_000_000+k*k)
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	for size := 3; size < b.Len(); size += 7 {
		_, err := readLog(bytes.NewReader(b.Bytes()[:size]), "file")
		require.EqualError(t, err, "file: the gzipped file is cut off, or has something else behind it", size)
	}
}

func TestReadLogSpans(t *testing.T) {
	t.Parallel()
	for times, want := range map[[2]string]string{
		{"1700000000", "1700000007"}:      "from 2023-11-14 22:13:20 (line 2) to 2023-11-14 22:13:27 (line 3), which is 7 seconds",
		{"1700000000", "1700003000"}:      "which is 50 minutes",
		{"1700000", "1900000"}:            "which is 2 days",
		{"0", "1700000000"}:               "from 1970-01-01 00:00:00 (line 2) to 2023-11-14 22:13:20 (line 3), which is 53.9 years",
		{"1700000000", "90000000000"}:     "which is 2800 years",
		{"9700000000", "9700900000"}:      "from 2277-05-19",
		{"1700000000", "1700090000"}:      "",
		{"1.7e12", "1700090000.5e3"}:      "",
		{"1700090000.25", "1700000000.5"}: "",
	} {
		l, err := readLog(strings.NewReader(fmt.Sprintf("url,time,changed\na,%s,0\na,%s,1\n", times[0], times[1])), "file")
		require.NoError(t, err)
		if want == "" {
			require.Empty(t, l.notes, times)
			continue
		}
		require.Len(t, l.notes, 1, times)
		require.Contains(t, l.notes[0], want)
	}
}

// A crawl every night is noted, and neither are polls in turn nor a single break.
func TestReadLogBunches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at   func(page, round int) int // seconds
		want string
	}{
		{func(page, round int) int { return round*86400 + 60*page }, "the polls come in bunches, with breaks of 92 % of the time"},
		{func(page, round int) int { return round*86400 + 864*page }, ""},
		{func(page, round int) int { return round*86400 + 864*page + 5_000_000*(round/3) }, ""},
	} {
		text := "url,time,changed\n"
		for round := range 6 {
			for page := range 100 {
				text += fmt.Sprintf("page %d,%d,1\n", page, 1_700_000_000+c.at(page, round))
			}
		}
		l, err := readLog(strings.NewReader(text), "file")
		require.NoError(t, err)
		if c.want == "" {
			require.Empty(t, l.notes)
			continue
		}
		require.Len(t, l.notes, 1)
		require.Contains(t, l.notes[0], c.want)
	}
}

// Whatever is written, in any order of lines and columns, with any separator and form of
// time, zipped or not, is read back.
func TestReadLogReadsBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		type row struct {
			url string
			logged
		}
		pages := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z:/?&=,;"\t%é -]*[a-z]`), 1, 5, strings.TrimSpace).Draw(t, "urls")
		var rows []row
		want := map[string][]logged{}
		for _, url := range pages {
			url = strings.TrimSpace(url)
			at := 1.6e9
			for range rapid.IntRange(2, 5).Draw(t, "polls") {
				at += float64(rapid.IntRange(3600, 1e6).Draw(t, "gap"))
				p := logged{at, rapid.Bool().Draw(t, "changed")}
				rows = append(rows, row{url, p})
				want[url] = append(want[url], p)
			}
		}
		rows = rapid.Permutation(rows).Draw(t, "rows")
		names := rapid.Permutation([]string{"url", "time", "changed", "status"}).Draw(t, "columns")
		form := rapid.SampledFrom([]func(float64) string{
			func(t float64) string { return strconv.FormatFloat(t, 'f', -1, 64) },
			func(t float64) string { return strconv.FormatFloat(1000*t, 'f', -1, 64) },
			func(at float64) string { return time.Unix(int64(at), 0).UTC().Format(time.RFC3339) },
		}).Draw(t, "form")
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		w.Comma = rapid.SampledFrom([]rune(",\t;")).Draw(t, "separator")
		w.UseCRLF = rapid.Bool().Draw(t, "CRLF")
		require.NoError(t, w.Write(names))
		for _, r := range rows {
			cells := map[string]string{"url": r.url, "time": form(r.time), "changed": strconv.FormatBool(r.changed), "status": "200"}
			var record []string
			for _, name := range names {
				record = append(record, cells[name])
			}
			require.NoError(t, w.Write(record))
		}
		w.Flush()
		if rapid.Bool().Draw(t, "zipped") {
			plain := bytes.Clone(b.Bytes())
			b.Reset()
			z := gzip.NewWriter(&b)
			_, err := z.Write(plain)
			require.NoError(t, err)
			require.NoError(t, z.Close())
		}
		l, err := readLog(&b, "file")
		require.NoError(t, err)
		require.Len(t, l.urls, len(want))
		for page, url := range l.urls {
			require.Equal(t, want[url], l.polls[page], url)
		}
	})
}

// Whatever the file, the reader ends with an error that names the file, or with a log that
// can be replayed.
func FuzzReadLog(f *testing.F) {
	for _, seed := range []string{
		"url,time,changed\na,1700000000,0\na,1700003600,1\n", "time;url;changed\n2023-11-14T22:13:20Z;\"a;b\";y\n",
		"\ufeffchanged\ttime\turl\r\n1\t1e12\ta\r\n0\t-1e12\ta\r\n", "url,time,changed\na,\"1\n\n2\",0\n", "\x1f\x8b", "url|time",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		l, err := readLog(bytes.NewReader(data), "some file")
		if err != nil {
			require.True(t, strings.HasPrefix(err.Error(), "some file:"), err.Error())
			return
		}
		require.Equal(t, len(l.urls), len(l.polls))
		require.NotEmpty(t, l.urls)
		for page, polls := range l.polls {
			require.NotEmpty(t, l.urls[page])
			require.GreaterOrEqual(t, len(polls), 2)
			require.True(t, slices.IsSortedFunc(polls, func(a, b logged) int { return map[bool]int{true: -1, false: 1}[a.time < b.time] }))
			for _, p := range polls {
				require.False(t, math.IsNaN(p.time) || math.IsInf(p.time, 0))
			}
		}
	})
}
