package engine

import (
	"fmt"
	"regexp"
	"sync"
)

// A storeLog takes what an embedded server logs. One that failed to write a file stores nothing any more, does not
// answer, and says why nowhere else.
type storeLog struct {
	mu     sync.Mutex
	failed string
}

// failures are the words in which it says so; the file and its error come after them.
var failures = regexp.MustCompile(`(?s)^(?:JetStream failed to store a msg on stream '.*?'|Filesystem permission denied while writing msg, disabling JetStream): (.*)$`)

func (l *storeLog) note(format string, v ...any) {
	found := failures.FindStringSubmatch(fmt.Sprintf(format, v...))
	if found == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = found[1]
}

// why returns why the server stores nothing any more; empty if it does, for all that is known.
func (l *storeLog) why() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// Errorf and the other methods implement [server.Logger].
func (l *storeLog) Errorf(format string, v ...any) { l.note(format, v...) }
func (l *storeLog) Warnf(format string, v ...any)  { l.note(format, v...) }
func (l *storeLog) Fatalf(format string, v ...any) { l.note(format, v...) }
func (l *storeLog) Noticef(string, ...any)         {}
func (l *storeLog) Debugf(string, ...any)          {}
func (l *storeLog) Tracef(string, ...any)          {}
