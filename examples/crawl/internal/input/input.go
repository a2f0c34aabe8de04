// Package input reads what is to be crawled: lists of URLs, sitemaps, feeds and lists of feeds, and
// the settings of pages by the beginning of their URLs.
package input

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Settings are what a user sets of pages. The zero value sets nothing.
type Settings struct {
	Weight            float64
	Shortest, Longest time.Duration
}

// An Entry is a page to crawl.
type Entry struct {
	URL string
	Settings
	Modified time.Time // when the source says that it last changed; zero if it does not
}

// URLs reads a list: a URL in a line, after it what is set of the page. Empty lines and lines that
// begin with # are skipped. Bad lines are left out and told, with the name of the file.
//
//	https://example.org/news weight=5 min=10m max=24h
func URLs(r io.Reader, file string) (entries []Entry, bad []error, err error) {
	err = lines(r, file, func(where, first string, rest []string) {
		e := Entry{}
		var wrong error
		if e.URL, wrong = Clean(first); wrong == nil {
			e.Settings, wrong = settings(rest)
		}
		if wrong != nil {
			bad = append(bad, fmt.Errorf("%s: %w", where, wrong))
			return
		}
		entries = append(entries, e)
	})
	return entries, bad, err
}

// longestLine is what is read of a line: a URL that is too long is found out by that.
const longestLine = 1 << 20

func lines(r io.Reader, file string, do func(where, first string, rest []string)) error {
	b := bufio.NewReaderSize(unmarked(r), longestLine)
	for n := 1; ; n++ {
		line, err := b.ReadSlice('\n')
		words := strings.Fields(strings.TrimPrefix(string(line), "\ufeff"))
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = b.ReadSlice('\n')
		}
		if len(words) > 0 && !strings.HasPrefix(words[0], "#") {
			do(fmt.Sprintf("%s:%d", file, n), words[0], words[1:])
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
}

// mostWeight keeps sums and products of weights, as prices are, far from where floats end.
const mostWeight = 1e9

func settings(words []string) (s Settings, err error) {
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "weight":
			s.Weight, err = strconv.ParseFloat(value, 64)
			if err == nil && !(s.Weight > 0 && s.Weight <= mostWeight) {
				err = fmt.Errorf("want more than 0 and at most %g", mostWeight)
			}
		case "min":
			s.Shortest, err = time.ParseDuration(value)
		case "max":
			s.Longest, err = time.ParseDuration(value)
		default:
			err = errors.New("want weight=, min= or max=")
		}
		if err != nil {
			return s, fmt.Errorf("%q: %w", word, err)
		}
	}
	if s.Shortest < 0 || s.Longest < 0 || s.Longest > 0 && s.Longest < s.Shortest {
		return s, fmt.Errorf("min=%v max=%v: want 0 ≤ min ≤ max", s.Shortest, s.Longest)
	}
	return s, nil
}

// A Rule sets something of all pages whose URLs begin alike: those of a host, or of a folder.
type Rule struct {
	Prefix string
	Settings
}

// Rules reads a file of rules, in the format of URLs. The rule of the longest prefix counts; what a
// list says of a page itself goes before.
func Rules(r io.Reader, file string) (rules []Rule, err error) {
	var wrong error
	err = lines(r, file, func(where, first string, rest []string) {
		s, err := settings(rest)
		if err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("%s: %w", where, err))
		}
		rules = append(rules, Rule{beginning(first), s})
	})
	slices.SortStableFunc(rules, func(a, b Rule) int { return cmp.Compare(len(b.Prefix), len(a.Prefix)) })
	return rules, errors.Join(err, wrong)
}

// beginning returns the beginning of URLs as [Clean] writes them. Without a slash after it the host may go on,
// unless it is one that is written in ASCII only when it is all there.
func beginning(raw string) string {
	_, rest, _ := strings.Cut(raw, "://")
	all := strings.ContainsAny(rest, "/?")
	clean, err := Clean(raw)
	switch {
	case err == nil && all:
		return clean
	case err == nil && !ascii(raw):
		return strings.TrimSuffix(clean, "/")
	case all:
		return raw
	}
	return strings.ToLower(raw) // a scheme and a host
}

// Unmatched returns the beginnings with which no URL of the entries begins: of a rule with a mistake, say.
func Unmatched(entries []Entry, rules []Rule) (prefixes []string) {
	if len(rules) == 0 {
		return nil
	}
	urls := make([]string, len(entries))
	for i, e := range entries {
		urls[i] = e.URL
	}
	slices.Sort(urls)
	for _, r := range rules {
		if at, _ := slices.BinarySearch(urls, r.Prefix); at == len(urls) || !strings.HasPrefix(urls[at], r.Prefix) {
			prefixes = append(prefixes, r.Prefix)
		}
	}
	return prefixes
}

// Merge returns the entries without repetitions, with the rules applied.
func Merge(entries []Entry, rules []Rule) []Entry {
	at := make(map[string]int, len(entries))
	var merged []Entry
	for _, e := range entries {
		if i, ok := at[e.URL]; ok {
			if merged[i].Settings == (Settings{}) {
				merged[i].Settings = e.Settings
			}
			if e.Modified.After(merged[i].Modified) {
				merged[i].Modified = e.Modified
			}
			continue
		}
		at[e.URL] = len(merged)
		merged = append(merged, e)
	}
	for i := range merged {
		for _, r := range rules {
			if merged[i].Settings == (Settings{}) && strings.HasPrefix(merged[i].URL, r.Prefix) {
				merged[i].Settings = r.Settings
				break
			}
		}
	}
	return merged
}
