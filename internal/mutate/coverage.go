package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

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
