// Package enum gives enumerations their names: a Names table, made once for a type X uint8,
// implements X's String, MarshalText and UnmarshalText in one line each.
//
//	var policyNames = enum.Of[Policy](ErrConfig, "fewest moves", "keep maximum")
//
//	func (p Policy) String() string                { return policyNames.String(p) }
//	func (p Policy) MarshalText() ([]byte, error)  { return policyNames.MarshalText(p) }
//	func (p *Policy) UnmarshalText(b []byte) error { return policyNames.UnmarshalText(p, b) }
package enum

import (
	"fmt"
	"reflect"
	"slices"
)

// Names holds the names of the values 0, 1, … of the enumeration E.
type Names[E ~uint8] struct {
	invalid error
	names   []string
}

// Of returns the table of the names of the values 0, 1, … in order. Errors of the table
// wrap invalid, the caller's ErrConfig. An empty name or one given twice panics.
func Of[E ~uint8](invalid error, names ...string) Names[E] {
	for i, name := range names {
		if name == "" || slices.Contains(names[:i], name) {
			panic(fmt.Sprintf("enum: %s %d has no name of its own", typeName[E](), i))
		}
	}
	return Names[E]{invalid, names}
}

func typeName[E any]() string { return reflect.TypeFor[E]().Name() }

// Len returns the number of values.
func (n Names[E]) Len() int { return len(n.names) }

// Check returns an error that names the type and the value unless v is one of the values.
func (n Names[E]) Check(v E) error {
	if int(v) >= len(n.names) {
		return fmt.Errorf("%w: unknown %s %d", n.invalid, typeName[E](), v)
	}
	return nil
}

// String returns the name of v, or Type(v) where it has none.
func (n Names[E]) String(v E) string {
	if int(v) >= len(n.names) {
		return fmt.Sprintf("%s(%d)", typeName[E](), v)
	}
	return n.names[v]
}

// MarshalText returns the name of v, or the error of Check.
func (n Names[E]) MarshalText(v E) ([]byte, error) {
	if err := n.Check(v); err != nil {
		return nil, err
	}
	return []byte(n.names[v]), nil
}

// UnmarshalText sets v to the value of a name. An unknown name is an error, which leaves
// v as it was.
func (n Names[E]) UnmarshalText(v *E, text []byte) error {
	i := slices.Index(n.names, string(text))
	if i < 0 {
		return fmt.Errorf("%w: unknown %s %q", n.invalid, typeName[E](), text)
	}
	*v = E(i)
	return nil
}
