package webenv

import (
	"math"
	"time"
)

// A Calendar maps the time of an environment to dates: time t is the date Epoch + t·Unit. With the
// zero value t is in seconds since 1970, as in recorded histories.
type Calendar struct {
	Epoch time.Time     // zero: the start of 1970, UTC
	Unit  time.Duration // zero: a second
}

func (c Calendar) unit() float64 {
	if c.Unit == 0 {
		return 1
	}
	return c.Unit.Seconds()
}

func (c Calendar) epoch() time.Time {
	if c.Epoch.IsZero() {
		return time.Unix(0, 0)
	}
	return c.Epoch
}

// Date returns the date of time t, in UTC. It returns the zero date outside the years 1 to 9999,
// because HTTP can write no other years.
func (c Calendar) Date(t float64) time.Time {
	whole, part := math.Modf(t * c.unit())
	if !(math.Abs(whole) < 1<<40) {
		return time.Time{}
	}
	e := c.epoch()
	d := time.Unix(e.Unix()+int64(whole), int64(e.Nanosecond())+int64(part*1e9)).UTC()
	if d.Year() < 1 || d.Year() > 9999 {
		return time.Time{}
	}
	return d
}

// Time returns the time at a date.
func (c Calendar) Time(d time.Time) float64 {
	e := c.epoch()
	return (float64(d.Unix()-e.Unix()) + float64(d.Nanosecond()-e.Nanosecond())/1e9) / c.unit()
}
