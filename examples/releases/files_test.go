package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/examples/internal/report"
)

// files adds the zip of a version: pairs of names and texts.
func (w *web) files(t *testing.T, version string, files ...string) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for k := 0; k < len(files); k += 2 {
		f, err := z.Create(files[k])
		require.NoError(t, err)
		_, err = io.WriteString(f, files[k+1])
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	w.set("/a.test/a/@v/"+version+".zip", []answer{{body: b.String()}})
}

// unix is midnight of a day of January 2026.
func unix(day int) string {
	at, _ := time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC).MarshalText()
	return string(at)
}

// fileWeb is a module with six versions that were the latest ones, one of which has no zip, and three others.
func fileWeb(t *testing.T) *web {
	w := newWeb(t, map[string][]answer{})
	w.module("a.test/a", "v1.0.0", unix(1), "v1.1.0", unix(11), "v1.2.0-rc.1", unix(12), "v1.2.0", unix(13), "v1.1.1", unix(14),
		"v1.3.0", unix(15), "v1.10.0", unix(16), "v1.10.1", unix(17), "v0.9.9", unix(18))
	w.files(t, "v1.0.0", "a.test/a@v1.0.0/old", "")
	w.files(t, "v1.1.0", "a.test/a@v1.1.0/x/one", "1", "a.test/a@v1.1.0/x/two, too", "1", "a.test/a@v1.1.0/100%", "1", "a.test/a@v1.1.0/left", "")
	w.files(t, "v1.2.0", "a.test/a@v1.2.0/x/one", "2", "a.test/a@v1.2.0/x/two, too", "2", "a.test/a@v1.2.0/100%", "1", "a.test/a@v1.2.0/left", "", "a.test/a@v1.2.0/new", "1")
	w.files(t, "v1.10.0", "a.test/a@v1.10.0/x/one", "2", "a.test/a@v1.10.0/x/two, too", "3", "a.test/a@v1.10.0/100%", "1", "a.test/a@v1.10.0/new", "2")
	w.files(t, "v1.10.1", "a.test/a@v1.10.1/x/one", "1", "a.test/a@v1.10.1/x/two, too", "3", "a.test/a@v1.10.1/100%", "1")
	return w
}

// Each file of the first version is a page, which changes where it differs from the version before that is
// known; once it is gone it does not.
func TestFiles(t *testing.T) {
	t.Parallel()
	w := fileWeb(t)
	args := []string{"-files", "a.test/a", "-days", "7"}
	out, said, err := w.download(t, t.Context(), "", args...)
	require.NoError(t, err)
	require.Equal(t, "a.test/a/100%25\na.test/a/left,1768521600\na.test/a/x/one,1768262400,1768608000\na.test/a/x/two%2C too,1768262400,1768521600\n", out)
	require.Equal(t, `releases: 1 version left out, in the list but not served: a.test/a@v1.3.0
releases: 4 files with 5 changes in 4 days, 2026-01-13 to 2026-01-17
releases: 1 file without a change; 0.0 % of the changes share their second with four others or more
releases: 1.67 polls an hour are 40 polls of each file in that time:
  go run ./examples/recrawl -trace FILE -budget 1.67
`, said)
	for _, unasked := range []string{"v1.0.0", "v1.2.0-rc.1", "v1.1.1", "v0.9.9"} {
		require.NotContains(t, w.requests(), "/a.test/a/@v/"+unasked+".zip")
	}

	out, _, err = w.download(t, t.Context(), "", "-files", "a.test/a")
	require.NoError(t, err)
	require.Equal(t, "a.test/a/old,1768089600\n", out, "what comes later is no page")

	out, _, err = w.download(t, t.Context(), "", append(args, "-json", "-out", filepath.Join(t.TempDir(), "files.csv"))...)
	require.NoError(t, err)
	var rows []report.Row
	require.NoError(t, json.Unmarshal([]byte(out), &rows))
	require.Equal(t, "files", rows[0].Quantity)
	require.EqualValues(t, 4, rows[0].Measured)
	require.Equal(t, "changes", rows[1].Unit)
}

// Versions of long ago, and those from before a go.mod, do not hide later ones of lower numbers.
func TestLatest(t *testing.T) {
	t.Parallel()
	at := func(name string, day int) version {
		return version{name: name, time: time.Date(2026, 1, day, 0, 0, 0, 0, time.UTC)}
	}
	all := []version{at("v0.1.0", 3), at("v0.2.0", 6), at("v0.3.0", 7), at("v1.0.0", 1), at("v2.0.0+incompatible", 4), at("v3.0.0+incompatible", 5)}
	require.Equal(t, all[3:4], latest(all, 6))
	require.Equal(t, all[:3], latest(all, 5))
	require.Equal(t, all[1:3], latest(all, 3))
	all = append(all, at("v3.1.0+incompatible", 8))
	require.Equal(t, all[4:], latest(all, 9))
	require.Empty(t, latest(nil, 9))
}

// A zip that is cut is asked for again, and one of something else ends the program.
func TestZips(t *testing.T) {
	t.Parallel()
	w := fileWeb(t)
	const at = "/a.test/a/@v/v1.2.0.zip"
	whole := w.answers[at][0]
	w.set(at, []answer{{body: whole.body[:len(whole.body)/2]}, {status: -1}, whole})
	out, _, err := w.download(t, t.Context(), "", "-files", "a.test/a", "-days", "7")
	require.NoError(t, err)
	require.Equal(t, 4, strings.Count(out, "\n"))
	require.Equal(t, 3, w.requests()[at])

	w.set(at, w.answers["/a.test/a/@v/v1.1.0.zip"])
	_, _, err = w.download(t, t.Context(), "", "-files", "a.test/a")
	require.EqualError(t, err, w.URL+at+`: no zip of this version: it has a file "a.test/a@v1.1.0/x/one"`)
	require.ErrorIs(t, err, errForeign)

	w.set(at, []answer{{body: "no zip"}})
	_, _, err = w.download(t, t.Context(), "", "-files", "a.test/a")
	require.ErrorIs(t, err, zip.ErrFormat)
}

// A module that is not served, that has no zips, or whose files never change, has no history.
func TestNoFiles(t *testing.T) {
	t.Parallel()
	w := newWeb(t, map[string][]answer{})
	_, said, err := w.download(t, t.Context(), "", "-files", "a.test/a")
	require.EqualError(t, err, "the proxy serves no version of any module: there is no history")
	require.Contains(t, said, "releases: 1 module not served by "+w.URL+": a.test/a\n")

	w.module("a.test/a", "v1.0.0", unix(1), "v1.1.0", unix(2))
	_, said, err = w.download(t, t.Context(), "", "-files", "a.test/a")
	require.EqualError(t, err, "the proxy serves no version of any module: there is no history")
	require.Contains(t, said, "releases: 2 versions left out, in the list but not served: a.test/a@v1.0.0, a.test/a@v1.1.0\n")

	w.files(t, "v1.0.0", "a.test/a@v1.0.0/one", "1")
	w.files(t, "v1.1.0", "a.test/a@v1.1.0/one", "1")
	_, _, err = w.download(t, t.Context(), "", "-files", "a.test/a")
	require.EqualError(t, err, "no file has a change: there is no history")
}
