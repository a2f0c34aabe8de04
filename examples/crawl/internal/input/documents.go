package input

import (
	"bytes"
	"compress/gzip"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/html/charset"
)

const (
	// maxSitemaps is the number of sitemaps that are read of an index, and maxDocument what is
	// read of a document: 50 MB, as sitemaps.org has it.
	maxSitemaps = 1000
	maxDocument = 50 << 20
	// maxErrors is the number of sitemaps of an index of which it is told why they cannot be read.
	maxErrors = 3
)

// A Get returns the body of a document.
type Get func(url string) ([]byte, error)

type document struct {
	XMLName xml.Name
	URLs    []location `xml:"url"`
	Maps    []location `xml:"sitemap"`
	Items   []item     `xml:"channel>item"` // RSS 2
	Items1  []item     `xml:"item"`         // RSS 1
	Entries []entry    `xml:"entry"`        // Atom
	Outline []outline  `xml:"body>outline"` // OPML
}

type location struct {
	Loc     string `xml:"loc"`
	LastMod string `xml:"lastmod"`
}

type item struct {
	Link    string `xml:"link"`
	PubDate string `xml:"pubDate"`
	Date    string `xml:"date"`
}

type entry struct {
	Links []struct {
		Rel  string `xml:"rel,attr"`
		Href string `xml:"href,attr"`
	} `xml:"link"`
	Updated string `xml:"updated"`
}

type outline struct {
	URL     string    `xml:"xmlUrl,attr"`
	Outline []outline `xml:"outline"`
}

func parse(body []byte) (d document, err error) {
	if bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		z, err := gzip.NewReader(bytes.NewReader(body))
		if err != nil {
			return d, err
		}
		if body, err = io.ReadAll(io.LimitReader(z, maxDocument)); err != nil {
			return d, err
		}
	}
	x := xml.NewDecoder(bytes.NewReader(body))
	x.Strict, x.CharsetReader = false, charset.NewReaderLabel
	if err = x.Decode(&d); errors.Is(err, io.EOF) {
		err = errors.New("there is no XML in it")
	}
	return d, err
}

// times are the formats of dates in sitemaps and feeds.
var times = []string{time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02", time.RFC1123Z, time.RFC1123, "Mon, 2 Jan 2006 15:04:05 -0700", "Mon, 2 Jan 2006 15:04:05 MST"}

func date(text string) time.Time {
	for _, layout := range times {
		if t, err := time.Parse(layout, strings.TrimSpace(text)); err == nil {
			return t
		}
	}
	return time.Time{}
}

// add adds a page if its URL is one.
func add(to []Entry, link, modified string) []Entry {
	url, err := Clean(link)
	if err != nil {
		return to
	}
	return append(to, Entry{URL: url, Modified: date(modified)})
}

// Sitemap reads a sitemap, or the sitemaps of an index. If some of these cannot be read the error
// says so, and the entries are those of the others.
func Sitemap(get Get, url string) (entries []Entry, err error) {
	queue := []string{url}
	failed := 0
	for n := 0; n < len(queue); n++ {
		more, next, bad := sitemap(get, queue[n])
		if bad != nil {
			if failed++; failed <= maxErrors {
				err = errors.Join(err, bad)
			}
			continue
		}
		entries = append(entries, more...)
		for _, m := range next {
			if len(queue) < maxSitemaps && !slices.Contains(queue, m) {
				queue = append(queue, m)
			}
		}
	}
	if failed > maxErrors {
		err = fmt.Errorf("%w\nand %d more", err, failed-maxErrors)
	}
	return entries, err
}

// sitemap reads one, which names pages or more sitemaps.
func sitemap(get Get, url string) (entries []Entry, next []string, err error) {
	d, err := fetch(get, url)
	if err != nil {
		return nil, nil, err
	}
	switch d.XMLName.Local {
	case "urlset":
		for _, u := range d.URLs {
			entries = add(entries, u.Loc, u.LastMod)
		}
	case "sitemapindex":
		for _, m := range d.Maps {
			if url, err := Clean(m.Loc); err == nil {
				next = append(next, url)
			}
		}
	default:
		return nil, nil, fmt.Errorf("sitemap %s: it is a %q", url, d.XMLName.Local)
	}
	return entries, next, nil
}

func fetch(get Get, url string) (d document, err error) {
	body, err := get(url)
	if err == nil {
		d, err = parse(body)
	}
	if err != nil {
		return d, fmt.Errorf("%s: %w", url, err)
	}
	return d, nil
}

// Feed reads the pages that an RSS or Atom feed is about.
func Feed(get Get, url string) (entries []Entry, err error) {
	d, err := fetch(get, url)
	if err != nil {
		return nil, err
	}
	switch d.XMLName.Local {
	case "rss", "RDF":
		for _, i := range append(d.Items, d.Items1...) {
			modified := i.PubDate
			if modified == "" {
				modified = i.Date
			}
			entries = add(entries, i.Link, modified)
		}
	case "feed":
		for _, e := range d.Entries {
			for _, l := range e.Links {
				if l.Rel == "" || l.Rel == "alternate" {
					entries = add(entries, l.Href, e.Updated)
				}
			}
		}
	default:
		return nil, fmt.Errorf("feed %s: it is a %q", url, d.XMLName.Local)
	}
	return entries, nil
}

// OPML reads the feeds of a list, as pages to crawl. Errors have the name of the file.
func OPML(body []byte, file string) (entries []Entry, err error) {
	d, err := parse(body)
	if err == nil && d.XMLName.Local != "opml" {
		err = fmt.Errorf("it is a %q", d.XMLName.Local)
	}
	if err != nil {
		return nil, fmt.Errorf("OPML %s: %w", file, err)
	}
	var walk func([]outline)
	walk = func(all []outline) {
		for _, o := range all {
			entries = add(entries, o.URL, "")
			walk(o.Outline)
		}
	}
	walk(d.Outline)
	return entries, nil
}
