package recrawl_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(file))
	require.NoError(t, err)
	return strings.ReplaceAll(string(text), "\r\n", "\n") // as a checkout may have it
}

// The program in the README is Example_quickStart, so that it compiles and runs.
func TestQuickStartIsTheExample(t *testing.T) {
	t.Parallel()
	_, rest, found := strings.Cut(read(t, "README.md"), "```go\n")
	require.True(t, found)
	inReadme, _, found := strings.Cut(rest, "```\n")
	require.True(t, found)

	example := read(t, "quickstart_test.go")
	example = strings.Replace(example, "package recrawl_test\n", "package main\n", 1)
	example = strings.Replace(example, "func Example_quickStart()", "func main()", 1)
	example = regexp.MustCompile(`(?m)\t// Output:\n(\t//.*\n)*`).ReplaceAllString(example, "")
	require.Equal(t, example, inReadme)
}

// Every link between the documents leads to a file that is there.
func TestLinks(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)|src="([^"]+)"`)
	program := regexp.MustCompile("(?s)```go.*?```")
	documents, err := filepath.Glob("*.md")
	require.NoError(t, err)
	links := 0
	for _, document := range append(documents, "examples/README.md", "examples/crawl/README.md", "examples/recrawl/README.md") {
		for _, m := range link.FindAllStringSubmatch(program.ReplaceAllString(read(t, document), ""), -1) {
			target := m[1] + m[3]
			if strings.Contains(target, "://") {
				continue
			}
			links++
			_, err := os.Stat(filepath.Join(filepath.Dir(document), filepath.FromSlash(target)))
			require.NoError(t, err, "%s links to %s", document, target)
		}
	}
	require.Greater(t, links, 10)
}

// Every name that a document writes as `package.Name` is exported by that package.
func TestNamesInDocuments(t *testing.T) {
	t.Parallel()
	folders := map[string]string{}
	for _, name := range []string{"automata", "binpack", "knapsack", "partition", "schedule", "webenv"} {
		folders[name] = name
	}
	folders["serve"], folders["live"] = "webenv/serve", "webenv/live"
	exported := map[string]map[string]bool{}
	for name, folder := range folders {
		exported[name] = exportedBy(t, folder)
	}
	documents, err := filepath.Glob("*.md")
	require.NoError(t, err)
	qualified := regexp.MustCompile(`\b([a-z]+)\.([A-Z][A-Za-z]+)\b`)
	checked := 0
	for _, document := range documents {
		for _, m := range qualified.FindAllStringSubmatch(read(t, document), -1) {
			if names, ok := exported[m[1]]; ok {
				checked++
				require.True(t, names[m[2]], "%s: %s", document, m[0])
			}
		}
	}
	require.Greater(t, checked, 20)
}

// exportedBy returns the exported types, functions, constants and variables of the package in
// a folder.
func exportedBy(t *testing.T, folder string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(folder), "*.go"))
	require.NoError(t, err)
	names := map[string]bool{}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for name := range f.Scope.Objects {
			names[name] = ast.IsExported(name)
		}
	}
	return names
}
