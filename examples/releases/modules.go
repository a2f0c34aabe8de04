package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// An environment is what the go command knows of the user's proxies and module.
type environment struct{ GOPROXY, GONOPROXY, GOMOD string }

// goEnv asks the go command, which also reads the file that go env -w writes.
func goEnv(ctx context.Context) (e environment, err error) {
	out, err := exec.CommandContext(ctx, "go", "env", "-json", "GOPROXY", "GONOPROXY", "GOMOD").Output()
	if err == nil {
		err = json.Unmarshal(out, &e)
	}
	if err != nil {
		return e, fmt.Errorf("go env: %w", err)
	}
	return e, nil
}

// proxy returns the first proxy of GOPROXY that is one over HTTP. It is an error if there is none.
func (e environment) proxy() (*url.URL, error) {
	for entry := range strings.FieldsFuncSeq(e.GOPROXY, func(r rune) bool { return r == ',' || r == '|' }) {
		entry = strings.TrimSpace(entry)
		switch {
		case strings.HasPrefix(entry, "https://"), strings.HasPrefix(entry, "http://"):
			return proxyURL(entry)
		case entry == "off":
			return nil, fmt.Errorf("GOPROXY=%s forbids downloads; -proxy asks all the same", e.GOPROXY)
		}
	}
	return nil, fmt.Errorf("GOPROXY=%s names no proxy over HTTP: want -proxy", e.GOPROXY)
}

// public returns the modules that a proxy may be asked for, and the others.
func (e environment) public(paths []string) (public, private []string) {
	for _, path := range paths {
		if module.MatchPrefixPatterns(e.GONOPROXY, path) {
			private = append(private, path)
		} else {
			public = append(public, path)
		}
	}
	return public, private
}

// sum returns the go.sum to read if none is named: that of the module, else that of the examples
// in the repository's root, else "".
func (e environment) sum() string {
	candidates := []string{filepath.Join("examples", "go.sum")}
	if e.GOMOD != "" && e.GOMOD != os.DevNull {
		candidates = slices.Insert(candidates, 0, filepath.Join(filepath.Dir(e.GOMOD), "go.sum"))
	}
	for _, file := range candidates {
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			return file
		}
	}
	return ""
}

// proxyURL checks the address of a proxy.
func proxyURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil: // it has the text, and with that maybe a password
		return nil, errors.New("this is no URL")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "", u.RawQuery != "", u.Fragment != "":
		return nil, fmt.Errorf("%s: want a URL such as https://proxy.example.org", u.Redacted())
	}
	return u, nil
}

// modulesOf reads the paths of modules from a file, or from stdin if that is not nil and the file
// is -, and returns them sorted, each once.
func modulesOf(file string, stdin io.Reader, read func(file string, text []byte) ([]string, error)) ([]string, error) {
	var text []byte
	var err error
	if file == "-" && stdin != nil {
		file = "standard input"
		text, err = io.ReadAll(stdin)
	} else {
		text, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, err
	}
	paths, err := read(file, text)
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("%s names no module", file)
	}
	slices.Sort(paths)
	return slices.Compact(paths), nil
}

// readSum reads the modules of a go.sum: lines of path, version and hash.
func readSum(file string, text []byte) ([]string, error) {
	return readLines(file, text, func(fields []string) (string, error) {
		if len(fields) != 3 || !strings.HasPrefix(fields[2], "h1:") {
			return "", errors.New("want a line of a go.sum: a module, its version and h1:…")
		}
		return fields[0], nil
	})
}

// readList reads a list of modules, each of which may be followed by something, as a version.
func readList(file string, text []byte) ([]string, error) {
	return readLines(file, text, func(fields []string) (string, error) {
		if strings.HasPrefix(fields[0], "#") {
			return "", nil
		}
		path, _, _ := strings.Cut(fields[0], "@")
		return path, nil
	})
}

// readLines reads a path from the fields of each line that is not blank, none if that is "". Some editors
// put a byte order mark before the first.
func readLines(file string, text []byte, pathOf func(fields []string) (string, error)) (paths []string, err error) {
	lines := bufio.NewScanner(bytes.NewReader(bytes.TrimPrefix(text, []byte("\ufeff"))))
	for number := 1; lines.Scan(); number++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 {
			continue
		}
		path, err := pathOf(fields)
		if err == nil && path != "" {
			err = module.CheckPath(path)
			paths = append(paths, path)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, number, err)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return paths, nil
}

// readMod reads the modules that a go.mod requires. One that is replaced stands for the module in its
// place, and for none if that is a folder.
func readMod(file string, text []byte) (paths []string, err error) {
	mod, err := modfile.Parse(file, text, nil)
	if err != nil {
		return nil, err
	}
	for _, r := range mod.Require {
		path := r.Mod.Path
		for _, replace := range mod.Replace {
			if old := replace.Old; old.Path == r.Mod.Path && (old.Version == "" || old.Version == r.Mod.Version) {
				path = replace.New.Path
				if old.Version != "" { // it goes before one of all versions
					break
				}
			}
		}
		if !modfile.IsDirectoryPath(path) {
			paths = append(paths, path)
		}
	}
	return paths, nil
}
