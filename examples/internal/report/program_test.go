package report

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExitCodes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code int
		text string
	}{
		{nil, 0, ""},
		{flag.ErrHelp, 0, ""},
		{fmt.Errorf("wrapped: %w", Usagef("-n %d", 0)), 2, "x: wrapped: -n 0\nx -h explains the flags.\n"},
		{io.ErrUnexpectedEOF, 1, "x: unexpected EOF\n"},
	} {
		var b bytes.Buffer
		require.Equal(t, c.code, exit("x", c.err, &b))
		require.Equal(t, c.text, b.String())
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	var out, log bytes.Buffer
	p := NewProgram("x", "What it does.", "short", &out, &log)
	p.Notes = "Below."
	n := p.Flags.Int("n", 3, "a `number`")
	require.NoError(t, p.Parse([]string{"-n", "5", "-quick", "-out", "somewhere else", "-json"}))
	require.Equal(t, 5, *n)
	require.True(t, p.Given("n") && !p.Given("seed"))
	require.Equal(t, "go run ./examples/x -n 5 -quick -json -seed 1", p.Command())
	require.NoError(t, p.Parse([]string{"-seed=7", "--out=/a", "-n=4"}))
	require.Equal(t, "go run ./examples/x -seed=7 -n=4", p.Command())

	require.ErrorIs(t, p.Parse([]string{"-h"}), flag.ErrHelp)
	require.Regexp(t, `(?s)^Usage: x \[flags\]\n\nWhat it does\.\n\nFlags:\n.*-n number.*-seed.*\n\nBelow\.\n$`, out.String())
	for _, bad := range [][]string{{"-x"}, {"x"}, {"-n", "y"}} {
		require.ErrorAs(t, p.Parse(bad), new(UsageError))
	}
	require.Empty(t, log.String())

	full, w := io.Pipe()
	require.NoError(t, full.Close())
	p = NewProgram("example", "Shows something.", "fewer runs", w, io.Discard)
	require.ErrorIs(t, p.Parse([]string{"-h"}), io.ErrClosedPipe, "help that could not be printed")
}

// A flag that nothing reads is an error if it was given.
func TestOnlyIf(t *testing.T) {
	t.Parallel()
	p := NewProgram("x", "What it does.", "short", io.Discard, io.Discard)
	p.Flags.Int("n", 3, "a `number`")
	require.NoError(t, p.Parse([]string{"-n", "3"}))
	require.NoError(t, p.OnlyIf(true, "with -y", "n"))
	require.NoError(t, p.OnlyIf(false, "with -y", "quick", "json"))
	err := p.OnlyIf(false, "with -y", "quick", "n")
	require.ErrorAs(t, err, new(UsageError))
	require.EqualError(t, err, "-n goes with -y")
}

// A folder that cannot be made or written to is an error before the run.
func TestStartChecksTheFolder(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	p := NewProgram("x", "", "", io.Discard, &log)
	p.Out = file
	require.Error(t, p.Start("an hour"))
	require.Empty(t, log.String())

	p.Out = filepath.Join(dir, "new")
	require.NoError(t, p.Start("an hour"))
	require.Equal(t, "x: this takes an hour; -quick is shorter.\n", log.String())
	list, err := os.ReadDir(p.Out)
	require.NoError(t, err)
	require.Empty(t, list, "the check leaves nothing behind")

	require.NoError(t, p.Write("a.svg", []byte("<svg/>")))
	require.Contains(t, log.String(), "wrote "+filepath.Join(p.Out, "a.svg"))
	require.NoError(t, p.WritePage("a.html", Page{Title: "t"}))
	page, err := os.ReadFile(filepath.Join(p.Out, "a.html"))
	require.NoError(t, err)
	require.Contains(t, string(page), "go run ./examples/x -seed 1")

	require.NoError(t, os.Mkdir(filepath.Join(p.Out, "b.svg"), 0o755))
	require.Error(t, p.Write("b.svg", []byte("<svg/>")))
	list, err = os.ReadDir(p.Out)
	require.NoError(t, err)
	require.Len(t, list, 3, "what cannot be written leaves nothing behind")
}

func TestPrint(t *testing.T) {
	t.Parallel()
	rows := []Row{{Source: "s", Measured: 1.0}, {Source: "curve", Measured: make([]float64, 13)}, {Source: "some", Measured: []float64{1, 2}}}
	var table, js bytes.Buffer
	p := NewProgram("x", "", "", &table, io.Discard)
	require.NoError(t, p.Print("Title", rows))
	require.NoError(t, p.End())
	require.Contains(t, table.String(), "Title\n\nsource")
	require.NotContains(t, table.String(), "curve")
	require.Contains(t, table.String(), "1 2")
	require.Len(t, p.Rows(), 3)

	p = NewProgram("x", "", "", &js, io.Discard)
	p.JSON = true
	require.NoError(t, p.Print("Title", rows))
	require.Empty(t, js.String())
	require.NoError(t, p.End())
	require.Contains(t, js.String(), `"source": "curve"`)
	js.Reset()
	p.rows = nil
	require.NoError(t, p.End())
	require.Equal(t, "[]\n", js.String())
}

func TestParallel(t *testing.T) {
	t.Parallel()
	done := make([]bool, 50)
	require.NoError(t, Parallel("", len(done), func(i int) error { done[i] = true; return nil }))
	require.NotContains(t, done, false)
	first, second := errors.New("3"), errors.New("7")
	err := Parallel("", 10, func(i int) error {
		return map[int]error{3: first, 7: second}[i]
	})
	require.Equal(t, first, err)
	require.NoError(t, Parallel("", 0, nil))
}
