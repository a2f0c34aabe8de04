package recrawl_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/recrawl/recrawl/internal/golden"
)

var public = []string{"automata", "binpack", "knapsack", "partition", "schedule", "webenv", "webenv/live",
	"webenv/live/fingerprint", "webenv/serve"}

// What an importer sees changes only on purpose: go test . -update writes the files
// of testdata/api anew.
func TestAPI(t *testing.T) {
	t.Parallel()
	for _, dir := range public {
		t.Run(dir, func(t *testing.T) {
			t.Parallel()
			out, err := exec.Command("go", "doc", "-all", "./"+dir).Output()
			require.NoError(t, err)
			golden.Check(t, path.Join("api", strings.ReplaceAll(dir, "/", ".")+".txt"), string(out))
		})
	}
}

// The number of exported identifiers: types, functions, methods of exported types,
// constants and variables.
func TestAPISize(t *testing.T) {
	t.Parallel()
	total := 0
	var list strings.Builder
	for _, dir := range public {
		n := exported(t, dir)
		fmt.Fprintf(&list, "%s %d\n", dir, n)
		total += n
	}
	fmt.Fprintf(&list, "total %d\n", total)
	golden.Check(t, "api/size.txt", list.String())
}

func exported(t *testing.T, dir string) (n int) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	require.NoError(t, err)
	count := func(names ...*ast.Ident) {
		for _, name := range names {
			if name.IsExported() {
				n++
			}
		}
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range parsed.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil || receiver(d.Recv.List[0].Type).IsExported() {
					count(d.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						count(s.Name)
					case *ast.ValueSpec:
						count(s.Names...)
					}
				}
			}
		}
	}
	return n
}

// receiver returns the name in T, *T, T[P] and *T[P].
func receiver(e ast.Expr) *ast.Ident {
	switch x := e.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x
	default:
		panic(fmt.Sprintf("a receiver that is a %T", e))
	}
}
