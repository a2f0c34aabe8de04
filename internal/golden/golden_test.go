package golden

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// recorder is a test whose failure is noted.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Name() string          { return "TestX" }
func (r *recorder) Fatalf(string, ...any) { r.failed = true; panic(r) }
func (r *recorder) Fatal(args ...any)     { r.Fatalf("", args...) }
func (r *recorder) check(name, got string) (failed bool) {
	defer func() { _ = recover(); failed = r.failed }()
	Check(r, name, got)
	return
}

func TestCheck(t *testing.T) {
	t.Chdir(t.TempDir())
	check := func(name, got string) bool { return (&recorder{TB: t}).check(name, got) }
	require.True(t, check("a/b.txt", "one"), "there is no file")
	require.True(t, check("a/b.txt", ""), "there is no file, which is not an empty one")
	*update = true
	failed := check("a/b.txt", "one\ntwo")
	*update = false
	require.False(t, failed)
	data, err := os.ReadFile("testdata/a/b.txt")
	require.NoError(t, err)
	require.Equal(t, "one\ntwo", string(data))
	require.False(t, check("a/b.txt", "one\ntwo"))
	for _, other := range []string{"", "one", "one\ntwo\n", "one\nto", "two\none"} {
		require.True(t, check("a/b.txt", other), other)
	}
}

func TestDifference(t *testing.T) {
	t.Parallel()
	line, got, want := difference("a\nb", "a\r\nc\r\n")
	require.Equal(t, 2, line)
	require.Equal(t, "b", got)
	require.Equal(t, "c", want)
	line, got, want = difference("a", "a\n")
	require.Equal(t, 2, line)
	require.Equal(t, "the end", got)
	require.Equal(t, "", want)
	line, got, want = difference("a\n", "a")
	require.Equal(t, 2, line)
	require.Equal(t, "", got)
	require.Equal(t, "the end", want)
	// What a text says of its end is not its end.
	line, _, _ = difference("a", "a\nthe end")
	require.Equal(t, 2, line)
	line, _, _ = difference("a\nthe end", "a")
	require.Equal(t, 2, line)
	line, _, _ = difference("a\nb\n", "a\r\nb\r\n")
	require.Zero(t, line)
}
