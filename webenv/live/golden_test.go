package live

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/webenv/internal/check"
	"github.com/recrawl/recrawl/webenv/internal/webtest"
)

// The saved state of what has been fetched is pinned: a page with an ETag, one
// with a Last-Modified, one with neither and a redirect.
func TestSavedCopies(t *testing.T) {
	web := http.NewServeMux()
	web.HandleFunc("/etag", func(w http.ResponseWriter, r *http.Request) { w.Header().Set("ETag", `"1"`) })
	web.HandleFunc("/date", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Last-Modified", webtest.DateOf(1))
		w.Header().Set("Date", webtest.DateOf(9))
	})
	web.HandleFunc("/plain", func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("plain")) })
	web.HandleFunc("/moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/plain", http.StatusFound) })
	paths := []string{"/etag", "/date", "/plain", "/moved", "/missing"}
	live := liveOf(t, web, Config{}, paths...)
	for page := range paths {
		live.Poll(page, 10)
	}
	saved, err := live.MarshalBinary()
	require.NoError(t, err)
	check.Golden(t, "live", saved)
	saved, err = live.transport.MarshalBinary()
	require.NoError(t, err)
	check.Golden(t, "transport", saved)
}
