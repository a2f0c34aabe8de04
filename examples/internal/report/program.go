package report

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/google/renameio/v2/maybe"
)

// A Program is one run of an example: its command line, where it prints, and what it
// has measured so far. All examples have the flags -seed, -quick, -json and -out.
//
// Call [NewProgram], add flags to Flags, then Parse, then Start. Print the figures of
// every experiment with Print, write pictures with Write and WritePage, and call End.
type Program struct {
	Seed  uint64 // -seed
	Quick bool   // -quick
	JSON  bool   // -json
	Out   string // -out, empty for no pictures

	Flags  *flag.FlagSet
	Notes  string // what -h prints below the flags
	Stdout io.Writer
	Stderr io.Writer

	intro string
	args  []string
	rows  []Row
}

// NewProgram returns a run of the example of a name. -h prints intro above the flags;
// quick says what -quick does.
func NewProgram(name, intro, quick string, stdout, stderr io.Writer) *Program {
	p := &Program{Flags: flag.NewFlagSet(name, flag.ContinueOnError), intro: intro, Stdout: stdout, Stderr: stderr}
	p.Flags.SetOutput(io.Discard)
	p.Flags.Uint64Var(&p.Seed, "seed", 1, "`seed` of all random numbers: same seed, same figures")
	p.Flags.BoolVar(&p.Quick, "quick", false, quick)
	p.Flags.BoolVar(&p.JSON, "json", false, "print JSON and nothing else")
	p.Flags.StringVar(&p.Out, "out", "", "`folder` for pictures and a page with the tables (SVG and HTML); none if empty")
	return p
}

// A UsageError is a command line that makes no sense.
type UsageError struct{ error }

// Usagef returns a UsageError.
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// Known returns a UsageError that lists all names unless what a flag was given is part of one.
func Known(flag, part string, names []string) error {
	if slices.ContainsFunc(names, func(name string) bool { return strings.Contains(name, part) }) {
		return nil
	}
	return Usagef("-%s %s: there is no such name; there are: %s", flag, part, strings.Join(names, "; "))
}

// Main runs an example and exits: with 0 after success or -h, with 2 for a
// [UsageError], with 1 for any other error.
func Main(name string, run func(args []string, stdout, stderr io.Writer) error) {
	os.Exit(exit(name, run(os.Args[1:], os.Stdout, os.Stderr), os.Stderr))
}

func exit(name string, err error, stderr io.Writer) int {
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	case errors.As(err, new(UsageError)):
		fmt.Fprintf(stderr, "%s: %v\n%s -h explains the flags.\n", name, err, name)
		return 2
	default:
		fmt.Fprintf(stderr, "%s: %v\n", name, err)
		return 1
	}
}

// Parse parses the command line. After -h, which prints to Stdout, it returns
// [flag.ErrHelp], or the error of Stdout; all its other errors are UsageErrors.
func (p *Program) Parse(args []string) error {
	p.args = args
	err := p.Flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		var help bytes.Buffer
		fmt.Fprintf(&help, "Usage: %s [flags]\n\n%s\n\nFlags:\n", p.Flags.Name(), strings.TrimSpace(p.intro))
		p.Flags.SetOutput(&help)
		p.Flags.PrintDefaults()
		if p.Notes != "" {
			fmt.Fprintf(&help, "\n%s\n", strings.TrimSpace(p.Notes))
		}
		if _, failed := p.Stdout.Write(help.Bytes()); failed != nil {
			return failed
		}
		return err
	case err != nil:
		return UsageError{err}
	case p.Flags.NArg() > 0:
		return Usagef("unexpected argument %q: flags begin with a dash", p.Flags.Arg(0))
	}
	return nil
}

// Given reports whether a flag was set on the command line.
func (p *Program) Given(name string) (given bool) {
	p.Flags.Visit(func(f *flag.Flag) { given = given || f.Name == name })
	return given
}

// OnlyIf returns a UsageError if one of the flags was given although nothing reads it in this run. The
// error says how it goes, as in "with -suite".
func (p *Program) OnlyIf(read bool, how string, names ...string) error {
	for _, name := range names {
		if !read && p.Given(name) {
			return Usagef("-%s goes %s", name, how)
		}
	}
	return nil
}

// Start checks that the folder for pictures can be written to, before anything is
// measured, and says how long the run takes, for instance "two minutes on two cores",
// unless takes is empty or -quick was given.
func (p *Program) Start(takes string) error {
	if p.Out != "" {
		if err := os.MkdirAll(p.Out, 0o755); err != nil {
			return err
		}
		probe, err := os.CreateTemp(p.Out, ".probe-*")
		if err != nil {
			return err
		}
		if err := errors.Join(probe.Close(), os.Remove(probe.Name())); err != nil {
			return err
		}
	}
	if takes != "" && !p.Quick {
		fmt.Fprintf(p.Stderr, "%s: this takes %s; -quick is shorter.\n", p.Flags.Name(), takes)
	}
	return nil
}

// Print adds the rows of an experiment to the run and prints them as a table under its
// title, if it has one. Curves are left out of the table. With -json it prints nothing.
func (p *Program) Print(title string, rows []Row) error {
	p.rows = append(p.rows, rows...)
	rows = WithoutCurves(rows)
	if p.JSON || len(rows) == 0 {
		return nil
	}
	if title != "" {
		if _, err := fmt.Fprintf(p.Stdout, "%s\n\n", title); err != nil {
			return err
		}
	}
	if err := WriteRows(p.Stdout, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(p.Stdout)
	return err
}

// Rows returns all rows printed so far.
func (p *Program) Rows() []Row { return p.rows }

// End prints all rows as one JSON array, if -json was given.
func (p *Program) End() error {
	if !p.JSON {
		return nil
	}
	if p.rows == nil {
		p.rows = []Row{}
	}
	return WriteJSON(p.Stdout, p.rows)
}

// WithoutCurves returns the rows that fit a table: those that measure one number, or
// at most a dozen.
func WithoutCurves(rows []Row) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool {
		curve, _ := r.Measured.([]float64)
		return len(curve) > 12
	})
}

// Command returns the command line that gives the same figures again, seed included.
func (p *Program) Command() string {
	words := []string{"go run ./examples/" + p.Flags.Name()}
	out := false // the folder does not matter to what is in it
	for _, a := range p.args {
		name, _, joined := strings.Cut(strings.TrimLeft(a, "-"), "=")
		switch {
		case out:
			out = false
			continue
		case strings.HasPrefix(a, "-") && name == "out":
			out = !joined
			continue
		}
		words = append(words, Quote(a))
	}
	if !p.Given("seed") {
		words = append(words, fmt.Sprintf("-seed %d", p.Seed))
	}
	return strings.Join(words, " ")
}

// Quote returns a word of a command line as a shell reads it.
func Quote(word string) string {
	plain := func(r rune) bool {
		return r > unicode.MaxASCII || unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_./:=@%+,-", r)
	}
	if word == "" || strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// Write writes a file into the folder for pictures, whole or not at all, and says so on
// Stderr. Without -out it does nothing.
func (p *Program) Write(name string, content []byte) error {
	if p.Out == "" {
		return nil
	}
	path := filepath.Join(p.Out, name)
	if err := maybe.WriteFile(path, content, 0o644); err != nil {
		return err
	}
	_, err := fmt.Fprintln(p.Stderr, "wrote", path)
	return err
}

// WriteChart writes a chart into a file of its own, with the command line below it, and
// returns it without, for a page.
func (p *Program) WriteChart(name string, c Chart) ([]byte, error) {
	svg, err := c.SVG()
	if err != nil {
		return nil, err
	}
	c.Made = p.Command()
	alone, err := c.SVG()
	if err != nil {
		return nil, err
	}
	return svg, p.Write(name, alone)
}

// WritePage writes a page, with the command line at its end.
func (p *Program) WritePage(name string, page Page) error {
	if p.Out == "" {
		return nil
	}
	page.Command = p.Command()
	html, err := page.HTML()
	if err != nil {
		return err
	}
	return p.Write(name, html)
}
