package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"strings"
)

// A mutant is one small change of a source file: the bytes from start to end give way to text.
type mutant struct {
	file       string // base name
	line, col  int
	start, end int // offsets in the file
	old, text  string
	where      string // the line of the file
}

func (m mutant) String() string {
	old, text := strings.Join(strings.Fields(m.old), " "), m.text
	if len(old) > 60 {
		old = old[:57] + "…"
	}
	return fmt.Sprintf("%s:%d:%d: %s → %s  | %s", m.file, m.line, m.col, old, text, m.where)
}

// apply returns the file with the change.
func (m mutant) apply(src []byte) []byte {
	return slices.Concat(src[:m.start], []byte(m.text), src[m.end:])
}

// swaps has what takes the place of an operator: the other side of a boundary, the opposite
// comparison, the inverse operation.
var swaps = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
	token.LAND: {token.LOR}, token.LOR: {token.LAND},
	token.ADD: {token.SUB}, token.SUB: {token.ADD}, token.MUL: {token.QUO}, token.QUO: {token.MUL},
	token.REM: {token.MUL}, token.AND: {token.OR}, token.OR: {token.AND}, token.XOR: {token.OR},
	token.SHL: {token.SHR}, token.SHR: {token.SHL},
	token.ADD_ASSIGN: {token.SUB_ASSIGN}, token.SUB_ASSIGN: {token.ADD_ASSIGN},
	token.MUL_ASSIGN: {token.QUO_ASSIGN}, token.QUO_ASSIGN: {token.MUL_ASSIGN},
	token.AND_ASSIGN: {token.OR_ASSIGN}, token.OR_ASSIGN: {token.AND_ASSIGN},
	token.INC: {token.DEC}, token.DEC: {token.INC},
}

// mutants returns every mutant of a file, in the order of its text. Some do not compile.
func mutants(name string, src []byte) ([]mutant, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	c := &collector{fset: fset, name: name, src: src}
	ast.Inspect(f, c.visit)
	slices.SortStableFunc(c.found, func(a, b mutant) int { return a.start - b.start })
	return c.found, nil
}

type collector struct {
	fset  *token.FileSet
	name  string
	src   []byte
	found []mutant
}

func (c *collector) text(n ast.Node) string {
	return string(c.src[c.offset(n.Pos()):c.offset(n.End())])
}

func (c *collector) offset(p token.Pos) int { return c.fset.Position(p).Offset }

func (c *collector) add(from, to token.Pos, text string) {
	p := c.fset.Position(from)
	end := c.offset(to)
	where, _, _ := strings.Cut(string(c.src[p.Offset-p.Column+1:]), "\n")
	c.found = append(c.found, mutant{c.name, p.Line, p.Column, p.Offset, end,
		string(c.src[p.Offset:end]), text, strings.TrimSpace(where)})
}

func (c *collector) swap(at token.Pos, op token.Token) {
	for _, other := range swaps[op] {
		c.add(at, at+token.Pos(len(op.String())), other.String())
	}
}

func (c *collector) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.ImportSpec, *ast.ArrayType:
		return false // paths, lengths of arrays
	case *ast.CallExpr:
		return c.call(n)
	case *ast.BinaryExpr:
		c.swap(n.OpPos, n.Op)
	case *ast.IncDecStmt:
		c.swap(n.TokPos, n.Tok)
	case *ast.AssignStmt:
		c.swap(n.TokPos, n.Tok)
	case *ast.BasicLit:
		c.literal(n)
	case *ast.FuncDecl:
		if n.Body != nil {
			c.returns(n.Type, n.Body)
		}
	case *ast.FuncLit:
		c.returns(n.Type, n.Body)
	case *ast.ReturnStmt:
		// What is returned beside false or an error says nothing.
		if k := len(n.Results) - 1; k > 0 && c.refuses(n.Results[k]) {
			ast.Inspect(n.Results[k], c.visit)
			return false
		}
	case *ast.BlockStmt:
		c.removals(n.List)
	case *ast.CaseClause:
		c.removals(n.Body)
	}
	return true
}

// refuses reports whether the last result is that of a call that was in vain.
func (c *collector) refuses(last ast.Expr) bool {
	text := c.text(last)
	return text == "false" || text == "err" || strings.HasPrefix(text, "fmt.Errorf(")
}

// call leaves out the arguments whose change no test should see: the wording of errors and
// panics, the room that a slice or map is given beforehand, and the 1 of +Inf, which 0 is too.
func (c *collector) call(n *ast.CallExpr) (inside bool) {
	switch fun := c.text(n.Fun); fun {
	case "fmt.Errorf", "errors.New", "panic":
		return false
	case "math.Inf", "math.IsInf":
		_, negative := n.Args[len(n.Args)-1].(*ast.UnaryExpr)
		return negative
	case "make":
		if len(n.Args) == 3 {
			ast.Inspect(n.Args[1], c.visit)
		}
		return false
	}
	return true
}

// literal changes a number: 0 to 1, 1 to 0, other ints by one, floats to twice themselves.
func (c *collector) literal(n *ast.BasicLit) {
	text := ""
	switch n.Kind {
	case token.INT:
		switch n.Value {
		case "0":
			text = "1"
		case "1":
			text = "0"
		default:
			v, err := strconv.ParseUint(n.Value, 0, 64)
			if err != nil || v+1 == 0 {
				return
			}
			text = strconv.FormatUint(v+1, 10)
		}
	case token.FLOAT:
		text = "(2*" + n.Value + ")"
		if v, err := strconv.ParseFloat(n.Value, 64); err == nil && v == 0 {
			text = "1.0"
		}
	default:
		return
	}
	c.add(n.Pos(), n.End(), text)
}

// returns changes what a function returns: the opposite of a bool, one more than a number, no
// error in place of one.
func (c *collector) returns(t *ast.FuncType, body *ast.BlockStmt) {
	var types []string
	if t.Results != nil {
		for _, field := range t.Results.List {
			types = append(types, slices.Repeat([]string{c.text(field.Type)}, max(1, len(field.Names)))...)
		}
	}
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false // it has results of its own
		case *ast.ReturnStmt:
			if len(n.Results) != len(types) {
				return true
			}
			for i, x := range n.Results {
				if last := len(types) - 1; i == last || !c.refuses(n.Results[last]) {
					c.result(x, types[i])
				}
			}
		}
		return true
	})
}

func (c *collector) result(x ast.Expr, of string) {
	old := c.text(x)
	switch of {
	case "bool":
		c.add(x.Pos(), x.End(), "!("+old+")")
	case "error":
		if old != "nil" {
			c.add(x.Pos(), x.End(), "nil")
		}
	case "int", "float64":
		if _, ok := x.(*ast.BasicLit); !ok && !strings.HasPrefix(old, "math.Inf(") {
			c.add(x.Pos(), x.End(), "("+old+") + 1")
		}
	}
}

// removals takes statements away. What an assignment computes is still computed, so that
// nothing is declared and not used.
func (c *collector) removals(list []ast.Stmt) {
	for _, s := range list {
		switch s := s.(type) {
		case *ast.ExprStmt:
			if !strings.HasPrefix(c.text(s), "panic(") {
				c.add(s.Pos(), s.End(), "{}")
			}
		case *ast.IncDecStmt, *ast.BranchStmt, *ast.SendStmt, *ast.DeferStmt:
			c.add(s.Pos(), s.End(), "{}")
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				blanks := strings.Repeat("_, ", len(s.Lhs)-1) + "_ = "
				c.add(s.Pos(), s.Rhs[0].Pos(), blanks)
			}
		}
	}
}
