// Package upgrade misbehaves, for tests of what waits for answers.
package upgrade

import (
	"io"
	"net/http"
)

// Silent answers 101 Switching Protocols, which nobody asked for, and then says nothing until the client closes the
// connection.
func Silent(w http.ResponseWriter, _ *http.Request) {
	c, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()
	_, _ = io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
	_, _ = io.Copy(io.Discard, c)
}
