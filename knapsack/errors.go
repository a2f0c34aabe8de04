package knapsack

import (
	"errors"

	"github.com/recrawl/recrawl/internal/codec"
)

// Errors of this package. They come wrapped with the page and the value at fault. A call that
// returns an error has changed nothing.
var (
	ErrNoPage    = errors.New("knapsack: no page may be polled now")
	ErrUnknown   = errors.New("knapsack: unknown or removed page")
	ErrNotAsked  = errors.New("knapsack: answer to a poll that is not in flight")
	ErrTime      = errors.New("knapsack: time is not finite or goes backwards")
	ErrConfig    = errors.New("knapsack: setting out of range")
	ErrRate      = errors.New("knapsack: change rate is negative or not finite")
	ErrWeight    = errors.New("knapsack: weight is negative or not finite")
	ErrFrequency = errors.New("knapsack: polling frequency is negative or not finite")
	ErrBudget    = errors.New("knapsack: budget cannot be spent")
	ErrCorrupt   = codec.ErrCorrupt // saved state is truncated, altered, or of another type or version
)
