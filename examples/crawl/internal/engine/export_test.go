package engine

import "context"

// Silence makes a node say nothing any more, as one that is stopped; Speak wakes it up.
func (e *Engine) Silence() {
	e.session.stop()
	e.session.done.Wait()
}

// Speak is explained at Silence.
func (e *Engine) Speak() {
	ctx, stop := context.WithCancel(context.Background())
	e.session.stop = stop
	e.session.done.Go(func() { e.session.renew(ctx) })
}
