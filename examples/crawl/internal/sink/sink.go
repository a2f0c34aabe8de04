// Package sink is where new versions of pages go: a folder, a WARC file, lines of JSON, a webhook.
//
// A version is kept before the poll that found it counts. If it cannot be kept for a minute the poll
// does not count, and the next one finds the version again, for the sinks that do not have it. So each
// version that was learnt is there, once or, after a crash, twice.
package sink

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/renameio/v2/maybe"

	"github.com/recrawl/recrawl/examples/crawl/internal/fetch"
)

// A Sink keeps a version.
type Sink func(context.Context, fetch.Version) error

// A note is what is told of a version.
type note struct {
	URL      string    `json:"url"`
	Location string    `json:"location,omitempty"` // where redirects led
	Time     time.Time `json:"time"`
	First    bool      `json:"first,omitempty"` // the first copy
	Minor    bool      `json:"minor,omitempty"` // menus, headers, footers or the title changed, too
	Status   int       `json:"status"`
	Type     string    `json:"type,omitempty"`
	Bytes    int       `json:"bytes"`
	SHA256   string    `json:"sha256"`
}

func noteOf(v fetch.Version) note {
	sum := sha256.Sum256(v.Body)
	return note{v.URL, v.Location, v.At.UTC(), v.Poll.First, v.Poll.Minor, v.Poll.Status, v.Header.Get("Content-Type"), len(v.Body), hex.EncodeToString(sum[:])}
}

// Lines writes a line of JSON for each version. One that could not be written whole, as the disk is full, is a line
// of its own, which cannot be read. So is one that a process before this one left at the end of a file.
func Lines(w io.Writer) Sink {
	var mu sync.Mutex
	begun := isCut(w) // a line, and not ended
	return func(_ context.Context, v fetch.Version) error {
		line, err := json.Marshal(noteOf(v))
		if err != nil {
			return err
		}
		line = append(line, '\n')
		mu.Lock()
		defer mu.Unlock()
		if begun {
			line = append([]byte("\n"), line...)
		}
		n, err := w.Write(line)
		if n > 0 {
			begun = n < len(line) && line[n-1] != '\n'
		}
		return err
	}
}

// isCut reports whether what is written to is a file that ends in the middle of a line, where the system can tell.
func isCut(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
		return false
	}
	there, err := os.Open(fmt.Sprintf("/dev/fd/%d", f.Fd())) // a shell opens it for writing only
	if err != nil {
		return false
	}
	defer there.Close()
	last := make([]byte, 1)
	_, err = there.ReadAt(last, info.Size()-1)
	return err == nil && last[0] != '\n'
}

// Folder writes each version into a file of its own: HOST/PAGE/TIME.EXTENSION, where PAGE is the
// path as far as a file's name can have it, and a hash of the URL.
func Folder(dir string) (Sink, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return func(_ context.Context, v fetch.Version) error {
		u, err := url.Parse(v.URL)
		if err != nil {
			return err
		}
		page := filepath.Join(dir, safe(u.Host, 100), pageName(u))
		if err := os.MkdirAll(page, 0o755); err != nil {
			return err
		}
		name := v.At.UTC().Format("20060102T150405.000000000Z") + extension(v.Header.Get("Content-Type"))
		return maybe.WriteFile(filepath.Join(page, name), v.Body, 0o644)
	}, nil
}

func pageName(u *url.URL) string {
	sum := sha256.Sum256([]byte(u.String()))
	return safe(strings.Trim(u.Path, "/"), 80) + "-" + hex.EncodeToString(sum[:6])
}

// safe returns a text as a part of a file's name that no system takes for anything else.
func safe(text string, most int) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, text)
	if text = strings.Trim(text, "."); len(text) > most {
		text = text[:most]
	}
	if text == "" {
		return "_"
	}
	return text
}

// extensions are those that are usual; mime knows several for each type.
var extensions = map[string]string{"text/html": ".html", "application/json": ".json", "text/plain": ".txt", "text/xml": ".xml", "application/xml": ".xml"}

func extension(contentType string) string {
	media := contentType // package mime takes none if there is a mistake behind it
	if end := strings.IndexAny(media, ";,"); end >= 0 {
		media = media[:end]
	}
	media = strings.ToLower(strings.TrimSpace(media))
	if e, ok := extensions[media]; ok {
		return e
	}
	if all, _ := mime.ExtensionsByType(media); len(all) > 0 {
		return all[0]
	}
	return ".bin"
}

const webhookTimeout = 10 * time.Second

// Webhook posts JSON for each version to a URL. Any 2xx says that it was taken. A redirect that makes a GET of
// the request, as 301 and 302 do, is not followed: the JSON would be lost on the way.
func Webhook(to, userAgent string) Sink {
	client := &http.Client{Timeout: webhookTimeout, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		switch {
		case r.Method != http.MethodPost:
			return http.ErrUseLastResponse
		case len(via) >= 10:
			return errors.New("stopped after 10 redirects")
		}
		return nil
	}}
	return func(ctx context.Context, v fetch.Version) error {
		body, err := json.Marshal(noteOf(v))
		if err == nil {
			err = post(ctx, client, to, userAgent, body)
		}
		if err != nil {
			return fmt.Errorf("webhook: %w", err)
		}
		return nil
	}
}

func post(ctx context.Context, client *http.Client, to, userAgent string, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", userAgent)
	resp, err := client.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // so that the connection is kept; the status says all
	if resp.StatusCode/100 != 2 {
		return errors.New(resp.Status)
	}
	return nil
}
