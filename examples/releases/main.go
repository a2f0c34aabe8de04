// Command releases downloads from a module proxy when versions of Go modules were released, or in which of them
// each file of a module changed. It writes that as a history that examples/recrawl replays: a real web of pages
// that change.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/google/renameio/v2/maybe"
	"golang.org/x/mod/module"

	"github.com/recrawl/recrawl/examples/internal/report"
)

func main() {
	log.SetOutput(io.Discard) // net/http writes there when a server sends what nobody asked for
	report.Main("releases", run)
}

const intro = `Downloads when the versions of Go modules were released, and writes a history for recrawl to
replay. A module is a page, and a release is a change of it. By default the modules are those
of your own go.sum.

  go run ./examples/releases -out releases.csv
  go run ./examples/releases -sum examples/go.sum -out releases.csv
  go list -m -f '{{.Path}}' all | go run ./examples/releases -modules - -out releases.csv
  go run ./examples/recrawl -trace releases.csv -policies uniform,discounted,rate-filter

With -files each file of one module is a page, which changes at the versions in which the file
differs: most pages change together, as on a site that is published at releases.

  go run ./examples/releases -files google.golang.org/grpc -out files.csv`

const notes = `Lines of the history are name,unix,unix,…, sorted by name. A module without a release in the
last -days stays in it as a page that never changed. Versions of a module with the same second are
one change. Pseudo-versions are no releases. A module that the proxy does not serve (403, 404, 410
or 451) is left out and named. So is a version whose time cannot be read or is later than tomorrow.
After answers 429 and 5xx, and after failures of the network, the program tries again four times.
Then it ends without a history.

-files downloads versions whole: those that were the latest release when they came, no pre-releases
and no repairs of earlier releases. Pages are the files of the first of them in the last -days. A
file that is gone changes once more, and then never. In its name a comma is %2C and a percent sign
%25.

Unless -proxy is given, modules that match GONOPROXY are not asked for, as their names may be
secret. The go command does the same.`

// settings are what the command line says.
type settings struct {
	*report.Program
	proxy, sum, modules, files string
	days, versions             int

	stdin io.Reader
	env   func(context.Context) (environment, error)
	serve func(base *url.URL) *proxy
}

const (
	// quickVersions is how many versions of a module -quick asks for, and manyVersions how many -files does.
	quickVersions, manyVersions = 20, 1000
	// most bounds the flags that are numbers.
	most = 1_000_000
)

func parse(args []string, stdout, stderr io.Writer) (*settings, error) {
	s := &settings{
		Program: report.NewProgram("releases", intro, fmt.Sprintf("fewer versions of each module, %d", quickVersions), stdout, stderr),
		stdin:   os.Stdin, env: goEnv, serve: newProxy,
	}
	f := s.Flags
	f.Lookup("seed").Usage = "`number` that is refused: nothing is drawn here"
	f.Lookup("json").Usage = "print the summary as JSON and nothing else; with -out"
	f.Lookup("out").Usage = "`file` for the history, written whole or not at all (default standard output)"
	f.StringVar(&s.proxy, "proxy", "", "`URL` of the module proxy (default the first of go env GOPROXY)")
	f.StringVar(&s.sum, "sum", "", "`file` with the modules: a go.sum, or a go.mod if its name ends in .mod (default the go.sum of the module of this folder, else examples/go.sum)")
	f.StringVar(&s.modules, "modules", "", "`file` with the modules, one path in a line (- for standard input); what follows a path is ignored, and so are lines that begin with #")
	f.StringVar(&s.files, "files", "", "`module` whose files are the pages")
	f.IntVar(&s.days, "days", 1500, "keep the releases of this `number` of days before the latest one of all")
	f.IntVar(&s.versions, "versions", 120, fmt.Sprintf("ask for at most this `number` of versions of a module, the highest ones; %d with -files", manyVersions))
	s.Notes = notes
	if err := s.Parse(args); err != nil {
		return nil, err
	}
	if !s.Given("versions") {
		switch {
		case s.Quick:
			s.versions = quickVersions
		case s.files != "":
			s.versions = manyVersions
		}
	}
	return s, s.check()
}

// check reports a setting that makes no sense.
func (s *settings) check() error {
	for _, name := range []string{"proxy", "sum", "modules", "files", "out"} {
		if s.Given(name) && s.Flags.Lookup(name).Value.String() == "" {
			return report.Usagef("-%s is empty", name)
		}
	}
	if err := cmp.Or(
		s.OnlyIf(false, "with programs that draw numbers, which this one does not", "seed"),
		s.OnlyIf(s.Out != "", "with -out, as the history is on standard output otherwise", "json"),
		s.OnlyIf(s.modules == "" && s.files == "", "without -modules and -files", "sum"),
		s.OnlyIf(s.files == "", "without -files", "modules"),
	); err != nil {
		return err
	}
	switch {
	case s.days < 1 || s.days > most:
		return report.Usagef("-days %d: want 1 to %d", s.days, most)
	case s.versions < 1 || s.versions > most:
		return report.Usagef("-versions %d: want 1 to %d", s.versions, most)
	}
	if s.files != "" {
		if err := module.CheckPath(s.files); err != nil {
			return report.Usagef("-files: %w", err)
		}
	}
	if s.proxy != "" {
		if _, err := proxyURL(s.proxy); err != nil {
			return report.Usagef("-proxy: %w", err)
		}
	}
	return nil
}

func run(args []string, stdout, stderr io.Writer) error {
	s, err := parse(args, stdout, stderr)
	if err != nil {
		return err
	}
	// A context does not end the reading of a terminal, so until it is read a signal ends the program.
	paths, base, err := s.sources(context.Background())
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return s.download(ctx, paths, base)
}

// download asks the proxy for the releases of the modules, and writes the history and the summary.
func (s *settings) download(ctx context.Context, paths []string, base *url.URL) error {
	if err := s.checkOut(); err != nil {
		return err
	}
	p := s.serve(base)
	r, err := s.ask(ctx, p, paths)
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("stopped before the end, there is no history: %w", err)
		}
		return err
	}
	s.tell(r, base)
	if err := r.check(); err != nil {
		return err
	}
	var text bytes.Buffer
	if _, err := r.history.WriteTo(&text); err != nil {
		return err
	}
	if err := s.write(text.Bytes()); err != nil {
		return err
	}
	if s.JSON {
		if err := s.Print("", r.rows()); err != nil {
			return err
		}
		return s.End()
	}
	_, err = fmt.Fprint(s.Stderr, r.text(cmp.Or(s.Out, "FILE")))
	return err
}

// ask downloads what the history says.
func (s *settings) ask(ctx context.Context, p *proxy, paths []string) (*releases, error) {
	if s.files != "" {
		return p.files(ctx, s.files, s.versions, s.days)
	}
	found, err := p.releases(ctx, paths, s.versions)
	if err != nil {
		return nil, err
	}
	return assemble(found, s.days, p.now()), nil
}

// sources returns which modules to ask for, and the proxy.
func (s *settings) sources(ctx context.Context) (paths []string, base *url.URL, err error) {
	var env environment
	if s.proxy == "" || s.sum == "" && s.modules == "" && s.files == "" {
		if env, err = s.env(ctx); err != nil {
			return nil, nil, fmt.Errorf("%w; with -proxy and -sum, -modules or -files it is not needed", err)
		}
	}
	if s.files != "" {
		paths = []string{s.files}
	} else if s.modules != "" {
		paths, err = modulesOf(s.modules, s.stdin, readList)
	} else {
		sum := cmp.Or(s.sum, env.sum())
		if sum == "" {
			return nil, nil, report.Usagef("there is no go.sum of this folder's module: want -sum or -modules")
		}
		read := readSum
		if strings.HasSuffix(sum, ".mod") {
			read = readMod
		}
		paths, err = modulesOf(sum, nil, read)
	}
	if err != nil {
		return nil, nil, err
	}
	if s.proxy != "" {
		base, err = proxyURL(s.proxy)
		return paths, base, err
	}
	if base, err = env.proxy(); err != nil {
		return nil, nil, err
	}
	paths, private := env.public(paths)
	s.name(private, "module", "not asked for, as GONOPROXY has it", len(private))
	if len(paths) == 0 {
		return nil, nil, errors.New("no module is left to ask for; -proxy asks for all")
	}
	return paths, base, nil
}

// tell names what is not in the history.
func (s *settings) tell(r *releases, base *url.URL) {
	const some = 20
	s.name(r.unserved, "module", "not served by "+base.Redacted(), len(r.unserved))
	s.name(r.unreadable, "version", "left out, without a time that can be read", some)
	s.name(r.gone, "version", "left out, in the list but not served", some)
	s.name(r.future, "version", "left out, of a time to come", some)
	s.name(r.cut, "module", fmt.Sprintf("with more than %s, of which those of lower numbers are missing: -versions", count(s.versions, "version")), some)
}

// name says on Stderr that something is the matter with things, and names some of them.
func (s *settings) name(things []string, noun, matter string, some int) {
	if len(things) == 0 {
		return
	}
	text := strings.Join(things[:min(some, len(things))], ", ")
	if len(things) > some {
		text += fmt.Sprintf(" and %d more", len(things)-some)
	}
	fmt.Fprintf(s.Stderr, "releases: %s %s: %s\n", count(len(things), noun), matter, text)
}

// count returns a number of things.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// replaceable reports whether a file may be put in the place of -out. What is there and is no
// regular file, as /dev/null, is written to instead.
func (s *settings) replaceable() (bool, error) {
	switch info, err := os.Lstat(s.Out); {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil
	case err != nil:
		return false, err
	default:
		return info.Mode().IsRegular(), nil
	}
}

// checkOut reports before anything is downloaded that -out cannot be written.
func (s *settings) checkOut() error {
	if s.Out == "" {
		return nil
	}
	if info, err := os.Stat(s.Out); err == nil && info.IsDir() {
		return fmt.Errorf("-out %s is a folder: want a file", s.Out)
	}
	if replace, err := s.replaceable(); err != nil || !replace {
		return err
	}
	probe, err := os.CreateTemp(filepath.Dir(s.Out), ".probe-*")
	if err != nil {
		if inner := new(fs.PathError); errors.As(err, &inner) {
			err = inner.Err // it names the probe
		}
		return fmt.Errorf("-out %s: %w", s.Out, err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// write writes the history to -out, or to Stdout.
func (s *settings) write(text []byte) error {
	if s.Out == "" {
		_, err := s.Stdout.Write(text)
		return err
	}
	replace, err := s.replaceable()
	if err != nil {
		return err
	}
	if replace {
		return maybe.WriteFile(s.Out, text, 0o644)
	}
	return os.WriteFile(s.Out, text, 0o644)
}
