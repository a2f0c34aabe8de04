package serve

import "errors"

// ErrConfig reports a setting out of its range, wrapped with the value.
var ErrConfig = errors.New("serve: setting out of range")
