package serve

import (
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// maxSitemap is the most URLs in a sitemap (sitemaps.org).
const maxSitemap = 50000

func (s *Server) sitemaps() int { return (len(s.version) + maxSitemap - 1) / maxSitemap }

// lookAt looks at a page for a list of many pages, and returns its true lastmod. It locks the
// server for only one page at a time, so that a long list does not hold up other requests.
func (s *Server) lookAt(page int) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tick()
	s.look(page)
	return s.cfg.Calendar.Date(s.modified[page])
}

const sitemapSpace = `xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"`

func (s *Server) serveSitemap(w http.ResponseWriter, r *http.Request, part int) {
	serveXML(w, r, "urlset", func(b *bufio.Writer) {
		base := s.base(r)
		for page := part * maxSitemap; page < min((part+1)*maxSitemap, len(s.version)); page++ {
			writeEntry(b, "url", base+s.URL(page), s.lookAt(page))
		}
	})
}

func (s *Server) serveIndex(w http.ResponseWriter, r *http.Request) {
	serveXML(w, r, "sitemapindex", func(b *bufio.Writer) {
		base := s.base(r) + s.path
		for part := range s.sitemaps() {
			var last time.Time
			for page := part * maxSitemap; page < min((part+1)*maxSitemap, len(s.version)); page++ {
				if d := s.lookAt(page); d.After(last) {
					last = d
				}
			}
			writeEntry(b, "sitemap", base+"/sitemap-"+strconv.Itoa(part)+".xml", last)
		}
	})
}

// serveXML writes a document with the given root. A write error means that the client has gone.
func serveXML(w http.ResponseWriter, r *http.Request, root string, entries func(*bufio.Writer)) {
	w.Header().Set("Content-Type", "application/xml; charset=utf-8")
	w.Header().Set("Cache-Control", "no-cache")
	if r.Method == http.MethodHead {
		return
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s<%s %s>\n", xml.Header, root, sitemapSpace)
	entries(b)
	fmt.Fprintf(b, "</%s>\n", root)
	_ = b.Flush()
}

func writeEntry(b *bufio.Writer, tag, loc string, last time.Time) {
	fmt.Fprintf(b, "<%s><loc>", tag)
	_ = xml.EscapeText(b, []byte(loc))
	io.WriteString(b, "</loc>")
	if !last.IsZero() {
		fmt.Fprintf(b, "<lastmod>%s</lastmod>", last.Format(time.RFC3339Nano))
	}
	fmt.Fprintf(b, "</%s>\n", tag)
}
