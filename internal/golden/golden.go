// Package golden compares what a test computed with a file under testdata, and writes the
// files anew under the flag -update, which it defines for the tests that import it.
package golden

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden files anew")

// Check fails the test if got differs from the file testdata/name, and shows the first
// line that does. Under -update it writes the file instead.
func Check(t testing.TB, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", filepath.FromSlash(name))
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (go test -run '^%s$' -update writes it)", err, t.Name())
	}
	if line, g, w := difference(got, string(want)); line > 0 {
		t.Fatalf("%s, line %d:\n got %s\nwant %s\n(go test -run '^%s$' -update accepts it)", path, line, g, w, t.Name())
	}
}

// difference returns the first line in which two texts differ, counted from 1; 0 if they
// do not.
func difference(got, want string) (line int, g, w string) {
	want = strings.ReplaceAll(want, "\r\n", "\n") // as a checkout may have it
	if got == want {
		return 0, "", ""
	}
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	const end = "the end"
	for i := range max(len(a), len(b)) {
		g, w = end, end
		if i < len(a) {
			g = a[i]
		}
		if i < len(b) {
			w = b[i]
		}
		if i >= len(a) || i >= len(b) || g != w {
			return i + 1, g, w
		}
	}
	panic("unreachable")
}
