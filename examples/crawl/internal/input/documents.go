package input

import (
	"bufio"
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/mail"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	// maxSitemaps is the number of sitemaps that are read of an index.
	maxSitemaps = 1000
	// maxErrors is the number of sitemaps of an index of which it is told why they cannot be read.
	maxErrors = 3
)

// A Get returns the body of a document, one byte more than MaxDocument at most, and the URL at which it is: another
// one if it was redirected.
type Get func(url string) (body []byte, at string, err error)

// times are the formats of dates in sitemaps and in Atom, and those that feeds have instead of RFC 822's, behind the day
// of the week. Many leave out the zone, which is taken for UTC, or the colon in it.
var times = []string{
	time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02", "2006-01", "2006",
	"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", "2006-01-02T15:04:05Z0700",
	"2006-01-02 15:04:05Z07:00", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04:05 MST",
	"2006-01-02T15:04Z0700", "2006-01-02T15:04:05Z07", "2006-01-02 15:04:05Z07", "2006-01-02T15:04:05 Z07:00",
	"2 Jan 2006", "2 Jan 2006 15:04:05 Z07:00", "2 Jan 2006 15:04:05",
	"2 January 2006 15:04:05 MST", "2 January 2006 15:04:05 -0700", "2 January 2006 15:04:05 Z07:00",
}

// zones are the hours from UTC of the zones that RFC 822 knows by name. Go takes each for UTC, and a change that
// seems to be older than the latest poll counts for nothing.
var zones = map[string]int{"EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7}

func date(text string) time.Time {
	text = strings.TrimSpace(text)
	if day, rest, ok := strings.Cut(text, ","); ok && !strings.ContainsAny(day, "0123456789") { // Tuesday, as some write
		text = strings.TrimSpace(rest)
	}
	for _, layout := range times {
		if t, err := time.Parse(layout, text); err == nil {
			return inZone(t)
		}
	}
	t, err := mail.ParseDate(text) // as in RSS
	if err != nil {
		return time.Time{}
	}
	return inZone(t)
}

// inZone returns a time in the zone that was named.
func inZone(t time.Time) time.Time {
	if name, offset := t.Zone(); offset == 0 {
		hours := zones[name]
		t = t.Add(time.Duration(-hours) * time.Hour).In(time.FixedZone(name, hours*60*60))
	}
	return t
}

// pages are those that a document names.
type pages struct {
	entries []Entry
	omitted int    // that have no URL
	first   string // what the first of these has instead, cut short; empty if nothing
}

// add adds a page, by the first of its links that is a URL.
func (p *pages) add(modified string, links ...string) {
	for _, link := range links {
		if clean, err := Clean(link); err == nil {
			p.entries = append(p.entries, Entry{URL: clean, Modified: date(modified)})
			return
		}
	}
	p.omitted++
	if p.first == "" && len(links) > 0 {
		p.first = fmt.Sprintf("%.100s", strings.TrimSpace(links[0]))
	}
}

// shown returns the URL of a document as the log has it: without a password.
func shown(document string) string {
	if u, err := url.Parse(document); err == nil && u.User != nil {
		return u.Redacted()
	}
	return document
}

// told returns the pages of a document, and says how many it leaves out. An error tells how many there
// were before it.
func (p *pages) told(document string, err error) ([]Entry, error) {
	if p.omitted > 0 {
		slog.Warn("entries are left out: they have no link, or none that is a URL", "document", document, "left out", p.omitted, "first", p.first, "taken", len(p.entries))
	}
	switch {
	case err != nil && len(p.entries) > 0:
		err = fmt.Errorf("%s: %w; %d pages taken", document, err, len(p.entries))
	case err != nil:
		err = fmt.Errorf("%s: %w", document, err)
	}
	return p.entries, err
}

// Sitemap reads a sitemap, or the sitemaps of an index. If some of these cannot be read to their ends the
// error says so, and the entries are those of the others and of what was read. Found is told of those of each
// sitemap as it is read.
func Sitemap(get Get, url string, found func([]Entry)) (entries []Entry, err error) {
	queue, queued := []string{url}, map[string]bool{url: true}
	failed, left := 0, false
	for n := 0; n < len(queue); n++ {
		more, next, bad := sitemap(get, queue[n])
		if bad != nil {
			if failed++; failed <= maxErrors {
				err = errors.Join(err, bad)
			}
		}
		found(more)
		entries = append(entries, more...)
		for _, m := range next {
			switch {
			case queued[m]:
			case len(queue) < maxSitemaps:
				queue = append(queue, m)
				queued[m] = true
			default:
				left = true
			}
		}
	}
	if failed > maxErrors {
		err = fmt.Errorf("%w\nand %d more", err, failed-maxErrors)
	}
	if left {
		err = errors.Join(err, fmt.Errorf("%s: there are more than %d sitemaps, and those behind are left out", shown(url), maxSitemaps))
	}
	return entries, err
}

// sitemap reads one, which names pages or more sitemaps.
func sitemap(get Get, url string) (entries []Entry, next []string, err error) {
	var found pages
	body, _, err := get(url)
	if err == nil {
		err = found.sitemap(body, &next)
	}
	for i := range next {
		next[i] = withUser(next[i], url)
	}
	entries, err = found.told(shown(url), err)
	return entries, next, err
}

// withUser returns the URL of a sitemap with the user and password of its index, if that is at the same host.
func withUser(sitemap, index string) string {
	to, err := url.Parse(sitemap)
	from, wrong := url.Parse(index)
	if err != nil || wrong != nil {
		return sitemap
	}
	KeepUser(to, from)
	if to.User == nil {
		return sitemap
	}
	return to.String()
}

func (p *pages) sitemap(body []byte, next *[]string) error {
	doc, err := open(body)
	if err != nil {
		return err
	}
	start := bufio.NewReader(doc)
	if isText(start) {
		return p.lines(start)
	}
	loc, modified := "", ""
	var lost error // sitemaps or pages that cannot be read
	err = walk(start, func(path []element) error {
		if root := path[0].Name.Local; root != "urlset" && root != "sitemapindex" {
			return fmt.Errorf("it is a %q", root)
		}
		lost = cmp.Or(lost, endless(path, "url", "sitemap"))
		return nil
	}, func(path []element) {
		here := path[len(path)-1]
		own := len(path) == 3 && here.Name.Space == path[1].Name.Space // not image:loc
		switch {
		case own && here.Name.Local == "loc":
			loc = string(here.text)
		case own && here.Name.Local == "lastmod":
			modified = string(here.text)
		case is(path, "url"):
			p.add(modified, loc)
			loc, modified = "", ""
		case is(path, "sitemap"):
			if m, err := Clean(loc); err != nil {
				lost = cmp.Or(lost, fmt.Errorf("a sitemap of the index: %w", err))
			} else if len(*next) <= maxSitemaps {
				*next = append(*next, m)
			}
			loc, modified = "", ""
		}
	})
	return cmp.Or(err, lost)
}

// isText reports whether a document begins with a URL: a sitemap may be a list of them.
func isText(r *bufio.Reader) bool {
	start, _ := r.Peek(512) // less is not an error
	start = bytes.TrimLeft(bytes.TrimPrefix(start, []byte("\ufeff")), " \t\r\n")
	return len(start) > 0 && start[0] != '<' && bytes.Contains(start, []byte("://"))
}

// lines reads a list.
func (p *pages) lines(r io.Reader) error {
	last := ""
	err := lines(r, "text", func(_, first string, _ []string) {
		if last != "" {
			p.add("", last)
		}
		last = first
	})
	if errors.Is(err, errLong) {
		return errLong // the last may be half a line
	}
	if last != "" {
		p.add("", last)
	}
	if err == nil && len(p.entries) == 0 {
		return errNone
	}
	return err
}

// Feed reads the pages that an RSS or Atom feed is about.
func Feed(get Get, feed string) (entries []Entry, err error) {
	var found pages
	body, at, err := get(feed)
	if err == nil {
		err = found.feed(body, at)
	}
	return found.told(shown(feed), err)
}

func (p *pages) feed(body []byte, at string) error {
	doc, err := open(body)
	if err != nil {
		return err
	}
	from, err := url.Parse(at)
	if err != nil {
		return err
	}
	from.User = nil // or it would be in each relative link
	var links, spare []string
	modified, published := "", ""
	done := func() {
		p.add(cmp.Or(modified, published), append(links, spare...)...)
		links, spare, modified, published = nil, nil, "", ""
	}
	var lost error
	err = walk(doc, func(path []element) error {
		if root := path[0].Name.Local; root != "rss" && root != "RDF" && root != "feed" {
			return fmt.Errorf("it is a %q", root)
		}
		lost = cmp.Or(lost, endless(path, "item", "entry"))
		return nil
	}, func(path []element) {
		here := path[len(path)-1]
		switch name := here.Name.Local; {
		case path[0].Name.Local == "feed":
			switch {
			case is(path, "entry", "link") && alternate(here):
				links = append(links, resolve(base(from, path), here.attr("href")))
			case is(path, "entry", "updated"):
				modified = string(here.text)
			case is(path, "entry"):
				done()
			}
		case is(path, "channel", "item"), is(path, "item"): // of RSS 2 and 1
			done()
		case is(path, "channel", "item", name), is(path, "item", name):
			own := here.Name.Space == path[len(path)-2].Name.Space
			switch text := strings.TrimSpace(string(here.text)); {
			case name == "link" && own && text != "":
				links = append(links, resolve(base(from, path), text))
			case name == "guid" && isURL(text) && here.attr("isPermaLink") != "false":
				spare = append([]string{text}, spare...)
			case name == "link" && alternate(here):
				spare = append(spare, resolve(base(from, path), here.attr("href")))
			case name == "pubDate":
				modified = text
			case name == "date":
				published = text
			}
		}
	})
	return cmp.Or(err, lost)
}

// endless returns an error if an entry of a document begins within one of the same name, below the root or a channel:
// the end of that is missing, and those behind it are not seen.
func endless(path []element, names ...string) error {
	last := len(path) - 1
	here := path[last].Name
	if slices.Contains(names, here.Local) && slices.ContainsFunc(path[:min(last, 3)], func(e element) bool { return e.Name == here }) {
		return fmt.Errorf("a %q has no end", here.Local)
	}
	return nil
}

// alternate reports whether a link of Atom leads to the page that an entry is about.
func alternate(e element) bool {
	rel := e.attr("rel")
	return (rel == "" || strings.EqualFold(rel, "alternate")) && e.attr("href") != ""
}

// isURL reports whether a guid is one: many that do not say that they are no links are numbers.
func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https")
}

// resolve returns where a link leads that is relative to a document; links that are not are left as they
// are, as are those that are no URLs.
func resolve(base *url.URL, link string) string {
	link = strings.TrimSpace(link)
	u, err := url.Parse(link)
	if err != nil || link == "" || u.IsAbs() {
		return link
	}
	return base.ResolveReference(u).String()
}

// OPML reads the feeds of a list, as pages to crawl. Errors have the name of the file.
func OPML(body []byte, file string) (entries []Entry, err error) {
	var found pages
	doc, err := open(body)
	if err == nil {
		err = walk(doc, func(path []element) error {
			here := path[len(path)-1]
			if path[0].Name.Local != "opml" {
				return fmt.Errorf("it is a %q", path[0].Name.Local)
			}
			if link := here.attr("xmlUrl"); here.Name.Local == "outline" && link != "" {
				found.add("", feedURL(link))
			}
			return nil
		}, nil)
	}
	return found.told("OPML "+file, err)
}

// feedURL returns the URL that is meant by one with a scheme of feed readers: feed://a.test/rss, or
// feed:https://a.test/rss.
func feedURL(link string) string {
	rest, ok := strings.CutPrefix(strings.TrimSpace(link), "feed:")
	if !ok {
		return link
	}
	if host, ok := strings.CutPrefix(rest, "//"); !ok {
		return rest
	} else if strings.Contains(host, "://") { // feed://https://a.test/rss, too
		return host
	} else {
		return "http://" + host
	}
}
