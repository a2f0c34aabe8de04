package serve

import "errors"

// ErrConfig reports a setting out of its range. It comes wrapped with the value.
var ErrConfig = errors.New("serve: setting out of range")
