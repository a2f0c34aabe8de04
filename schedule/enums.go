package schedule

import "github.com/recrawl/recrawl/internal/enum"

// The names of the enumerations.
var (
	statusNames  = enum.Of[Status](ErrConfig, "finished", "gap closed", "limit reached", "cancelled", "optimal")
	orderNames   = enum.Of[Order](ErrConfig, "given", "reversed", "ascending", "descending")
	variantNames = enum.Of[BatchVariant](ErrConfig, "literal", "fill to share", "skip overflow")
	methodNames  = enum.Of[Method](ErrConfig, "last two", "EWMA", "median", "Holt", "truncated")
)

// String returns the name of the status.
func (s Status) String() string { return statusNames.String(s) }

// MarshalText returns the name of the status.
func (s Status) MarshalText() ([]byte, error) { return statusNames.MarshalText(s) }

// UnmarshalText reads the name of a status.
func (s *Status) UnmarshalText(text []byte) error { return statusNames.UnmarshalText(s, text) }

// String returns the name of the order.
func (o Order) String() string { return orderNames.String(o) }

// MarshalText returns the name of the order.
func (o Order) MarshalText() ([]byte, error) { return orderNames.MarshalText(o) }

// UnmarshalText reads the name of an order.
func (o *Order) UnmarshalText(text []byte) error { return orderNames.UnmarshalText(o, text) }

// String returns the name of the variant.
func (v BatchVariant) String() string { return variantNames.String(v) }

// MarshalText returns the name of the variant.
func (v BatchVariant) MarshalText() ([]byte, error) { return variantNames.MarshalText(v) }

// UnmarshalText reads the name of a variant.
func (v *BatchVariant) UnmarshalText(text []byte) error { return variantNames.UnmarshalText(v, text) }

// String returns the name of the method.
func (m Method) String() string { return methodNames.String(m) }

// MarshalText returns the name of the method.
func (m Method) MarshalText() ([]byte, error) { return methodNames.MarshalText(m) }

// UnmarshalText reads the name of a method.
func (m *Method) UnmarshalText(text []byte) error { return methodNames.UnmarshalText(m, text) }
