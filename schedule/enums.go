package schedule

import "github.com/recrawl/recrawl/internal/enum"

// The names of the enumerations.
var (
	statusNames  = enum.Of[Status](ErrConfig, "finished", "gap closed", "limit reached", "cancelled", "optimal")
	variantNames = enum.Of[BatchVariant](ErrConfig, "literal", "fill to share", "skip overflow")
)

// String returns the name of the status.
func (s Status) String() string { return statusNames.String(s) }

// MarshalText returns the name that String gives.
func (s Status) MarshalText() ([]byte, error) { return statusNames.MarshalText(s) }

// UnmarshalText reads the name that String gives.
func (s *Status) UnmarshalText(text []byte) error { return statusNames.UnmarshalText(s, text) }

// String returns the name of the variant.
func (v BatchVariant) String() string { return variantNames.String(v) }

// MarshalText returns the name that String gives.
func (v BatchVariant) MarshalText() ([]byte, error) { return variantNames.MarshalText(v) }

// UnmarshalText reads the name that String gives.
func (v *BatchVariant) UnmarshalText(text []byte) error { return variantNames.UnmarshalText(v, text) }
