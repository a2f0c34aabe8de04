package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A verdict is what became of a mutant.
type verdict int

const (
	killed   verdict = iota
	golden           // only a golden file noticed
	survived         // no test noticed
	invalid          // does not compile
	verdicts
)

func (v verdict) String() string { return [...]string{"killed", "golden", "survived", "invalid"}[v] }

// A judge runs the tests of some packages against the mutants of one.
type judge struct {
	only   string  // tests that run, "" for all
	golden string  // tests that run last
	factor float64 // of clean, when a run is stopped, with grace on top
	grace  time.Duration
	memory int // gigabytes
	tmp    string

	dir   string // of the package that changes
	tests []string
	dirs  []string // of tests
	clean time.Duration
}

// prepare runs the tests without a change, and returns the mutants of what they cover.
func (j *judge) prepare(pkg string, tests []string) ([]mutant, error) {
	dir, files, err := locate(pkg)
	if err != nil {
		return nil, err
	}
	j.dir, j.tests = dir, tests
	cover := coverage{}
	for _, t := range tests {
		dir, _, err := locate(t)
		if err != nil {
			return nil, err
		}
		j.dirs = append(j.dirs, dir)
		bin, profile := filepath.Join(j.tmp, "clean.test"), filepath.Join(j.tmp, "profile")
		if out, err := exec.Command("go", "test", "-c", "-vet=off", "-cover", "-coverpkg", pkg, "-o", bin, t).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("go test -c %s: %w\n%s", t, err, out)
		}
		start := time.Now()
		if passed, err := j.run(bin, dir, time.Hour, "-test.coverprofile="+profile, "-test.run="+j.all()); err != nil || !passed {
			return nil, errors.Join(fmt.Errorf("the tests of %s fail without a change", t), err)
		}
		j.clean = max(j.clean, time.Since(start))
		if err := cover.read(profile); err != nil {
			return nil, err
		}
	}
	var all []mutant
	for _, f := range files {
		src, err := os.ReadFile(filepath.Join(dir, f))
		if err != nil {
			return nil, err
		}
		found, err := mutants(f, src)
		if err != nil {
			return nil, err
		}
		for _, m := range found {
			if cover.runs(m) {
				all = append(all, m)
			}
		}
	}
	return all, nil
}

// all matches the tests of both kinds.
func (j *judge) all() string {
	if j.only == "" {
		return ""
	}
	return j.only + "|" + j.golden
}

func locate(pkg string) (dir string, files []string, err error) {
	out, err := exec.Command("go", "list", "-f", `{{.Dir}}{{range .GoFiles}},{{.}}{{end}}`, pkg).Output()
	if err != nil {
		return "", nil, fmt.Errorf("go list %s: %w", pkg, err)
	}
	f := strings.Split(strings.TrimSpace(string(out)), ",")
	return f[0], f[1:], nil
}

// try builds one mutant and runs the tests against it.
func (j *judge) try(m mutant) (verdict, error) {
	path := filepath.Join(j.dir, m.file)
	src, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	changed, overlay := filepath.Join(j.tmp, "changed.go"), filepath.Join(j.tmp, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{path: changed}})
	if err != nil {
		return 0, err
	}
	if err := errors.Join(os.WriteFile(changed, m.apply(src), 0o666), os.WriteFile(overlay, replace, 0o666)); err != nil {
		return 0, err
	}
	var bins []string
	for i, t := range j.tests {
		bins = append(bins, filepath.Join(j.tmp, strconv.Itoa(i)+".test"))
		err := exec.Command("go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", bins[i], t).Run()
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			return invalid, nil
		} else if err != nil {
			return 0, err
		}
	}
	limit := time.Duration(j.factor*float64(j.clean)) + j.grace
	for _, pass := range []struct {
		verdict verdict
		flags   []string
	}{{killed, []string{"-test.run=" + j.only, "-test.skip=" + j.golden}}, {golden, []string{"-test.run=" + j.golden}}} {
		for i, bin := range bins {
			passed, err := j.run(bin, j.dirs[i], limit, pass.flags...)
			if err != nil {
				return 0, err
			}
			if !passed {
				return pass.verdict, nil
			}
		}
	}
	return survived, nil
}

// run reports whether the tests of a binary pass, within the limits. It ends them as soon as
// one fails.
func (j *judge) run(bin, dir string, limit time.Duration, args ...string) (passed bool, err error) {
	args = append([]string{"-c", `ulimit -v "$1" || exit; shift; exec "$@"`, "sh", strconv.Itoa(j.memory << 20),
		bin, "-test.short", "-test.v", "-test.failfast", "-test.timeout=" + limit.String()}, args...)
	cmd := exec.Command("sh", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "RAPID_SEED=1", "RAPID_NOFAILFILE=true", "RAPID_SHRINKTIME=0s")
	out, err := cmd.StdoutPipe()
	if err != nil {
		return false, err
	}
	if err := cmd.Start(); err != nil {
		return false, err
	}
	lines, failed := bufio.NewReader(out), false
	for {
		line, err := lines.ReadBytes('\n')
		if bytes.Contains(line, []byte("--- FAIL: ")) {
			failed = true
			if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return false, err
			}
		}
		if err != nil {
			break
		}
	}
	err = cmd.Wait()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return false, nil
	}
	return !failed, err
}

// coverage has, for each file, the blocks of code that no test runs.
type coverage map[string][]block

type block struct {
	line, col, endLine, endCol int
	count                      int
}

// read adds what a profile says. A block of several profiles stands once for each.
func (c coverage) read(profile string) error {
	b, err := os.ReadFile(profile)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		path, rest, _ := strings.Cut(strings.TrimSpace(line), ":")
		var b block
		var statements int
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.line, &b.col, &b.endLine, &b.endCol, &statements, &b.count); err != nil {
			continue // the first line
		}
		c[filepath.Base(path)] = append(c[filepath.Base(path)], b)
	}
	return nil
}

// runs reports whether some test runs the code that a mutant changes. Code in no block at all,
// such as a constant, counts as run.
func (c coverage) runs(m mutant) bool {
	in, run := false, false
	for _, b := range c[m.file] {
		after := m.line > b.line || m.line == b.line && m.col >= b.col
		before := m.line < b.endLine || m.line == b.endLine && m.col < b.endCol
		if after && before {
			in = true
			run = run || b.count > 0
		}
	}
	return run || !in
}
