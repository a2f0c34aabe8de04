package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
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
	factor float64 // of the time without a change, when a run is stopped, with grace on top
	grace  time.Duration
	memory int // gigabytes
	tmp    string

	dir   string   // of the package that changes
	pkgs  []string // of tests
	dirs  []string // of pkgs
	tests []test   // the fastest first
}

// A test is one of the top level.
type test struct {
	name   string
	pkg    int // in judge.pkgs
	golden bool
	took   time.Duration // without a change
	cover  coverage      // of the package that changes
}

// prepare runs each test without a change, and returns the mutants of what they cover.
func (j *judge) prepare(pkg string, tests []string) ([]mutant, error) {
	dir, files, err := locate(pkg)
	if err != nil {
		return nil, err
	}
	j.dir, j.pkgs = dir, tests
	for i := range tests {
		if err := j.measure(pkg, i); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(j.tests, func(a, b test) int { return cmp.Compare(a.took, b.took) })
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
			if slices.ContainsFunc(j.tests, func(t test) bool { return t.cover.runs(m) }) {
				all = append(all, m)
			}
		}
	}
	return all, nil
}

// measure runs each test of a package alone: how long it takes, and what it covers.
func (j *judge) measure(pkg string, i int) error {
	dir, _, err := locate(j.pkgs[i])
	if err != nil {
		return err
	}
	j.dirs = append(j.dirs, dir)
	bin, profile := filepath.Join(j.tmp, "clean.test"), filepath.Join(j.tmp, "profile")
	if out, err := exec.Command("go", "test", "-c", "-vet=off", "-cover", "-coverpkg", pkg, "-o", bin, j.pkgs[i]).CombinedOutput(); err != nil {
		return fmt.Errorf("go test -c %s: %w\n%s", j.pkgs[i], err, out)
	}
	defer os.Remove(bin) // so that it is not taken for that of a package without tests
	if _, err := os.Stat(bin); err != nil {
		return fmt.Errorf("%s has no tests: %w", j.pkgs[i], err)
	}
	golden, err := regexp.Compile(j.golden)
	if err != nil {
		return err
	}
	list := exec.Command(bin, "-test.list="+j.all())
	list.Dir = dir
	out, err := list.Output()
	if err != nil {
		return fmt.Errorf("the tests of %s: %w", j.pkgs[i], err)
	}
	for name := range strings.FieldsSeq(string(out)) {
		if strings.HasPrefix(name, "Benchmark") {
			continue
		}
		t := test{name: name, pkg: i, golden: golden.MatchString(name), cover: coverage{}}
		start := time.Now()
		if passed, err := j.run(bin, dir, time.Hour, "-test.coverprofile="+profile, "-test.run="+pattern([]test{t})); err != nil || !passed {
			return errors.Join(fmt.Errorf("%s of %s fails without a change", name, j.pkgs[i]), err)
		}
		t.took = time.Since(start)
		if err := t.cover.read(profile); err != nil {
			return err
		}
		j.tests = append(j.tests, t)
	}
	return nil
}

// clean is how long all tests take without a change.
func (j *judge) clean() (sum time.Duration) {
	for _, t := range j.tests {
		sum += t.took
	}
	return sum
}

// batches returns the tests that run what a mutant changes, each batch of one package and run by
// one process. The fastest come first, and each batch takes several times as long as all before
// it, as most mutants are noticed soon. Golden tests come last.
func (j *judge) batches(m mutant) (all [][]test) {
	var before, next time.Duration
	for _, golden := range []bool{false, true} {
		open := make([]int, len(j.pkgs)) // batch of each package that is not full, plus one
		for _, t := range j.tests {
			if t.golden != golden || !t.cover.runs(m) {
				continue
			}
			if next += t.took; next > 4*before+time.Second/4 {
				before = next
				clear(open)
			}
			if open[t.pkg] == 0 {
				all = append(all, nil)
				open[t.pkg] = len(all)
			}
			all[open[t.pkg]-1] = append(all[open[t.pkg]-1], t)
		}
	}
	return all
}

// pattern matches the names of tests.
func pattern(tests []test) string {
	var names []string
	for _, t := range tests {
		names = append(names, t.name)
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// all matches the tests of both kinds.
func (j *judge) all() string {
	if j.only == "" {
		return "."
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
	bins := make([]string, len(j.pkgs))
	for _, batch := range j.batches(m) {
		i, golds := batch[0].pkg, batch[0].golden
		if bins[i] == "" {
			bins[i] = filepath.Join(j.tmp, strconv.Itoa(i)+".test")
			err := exec.Command("go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-overlay", overlay, "-o", bins[i], j.pkgs[i]).Run()
			if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
				return invalid, nil
			} else if err != nil {
				return 0, err
			}
		}
		var took time.Duration
		for _, t := range batch {
			took += t.took
		}
		passed, err := j.run(bins[i], j.dirs[i], time.Duration(j.factor*float64(took))+j.grace, "-test.run="+pattern(batch))
		switch {
		case err != nil:
			return 0, err
		case !passed && golds:
			return golden, nil
		case !passed:
			return killed, nil
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
