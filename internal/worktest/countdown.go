// Package worktest has a context that ends at a chosen moment.
package worktest

import "context"

// A Countdown is a context that ends after it was asked Left times. After counts how often it was
// asked since.
type Countdown struct {
	context.Context
	Left, After int
}

// NewCountdown returns a context that ends after it was asked so many times.
func NewCountdown(left int) *Countdown { return &Countdown{Context: context.Background(), Left: left} }

// Err returns nil until the context has ended.
func (c *Countdown) Err() error {
	if c.Left > 0 {
		c.Left--
		return nil
	}
	c.After++
	return context.Canceled
}
