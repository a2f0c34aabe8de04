package engine

import (
	"context"
	"encoding/base64"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// The stream that an object store is, and its subjects: of what is said of a blob, and of its parts. See ADR-20 of
// NATS.
const (
	objectsName = "OBJ_" + snapBucket
	aboutBlob   = "$O." + snapBucket + ".M."
	partsOfBlob = "$O." + snapBucket + ".C."
)

// abandoned is the time after which a node adds no more parts to a blob: far more than a transfer takes.
const abandoned = time.Hour

// drop deletes a blob, if it is there, and what the client would keep of it for ever: that it was deleted.
func (e *Engine) drop(ctx context.Context, name string) error {
	if err := e.blobs.Delete(ctx, name); err != nil && !errors.Is(err, jetstream.ErrObjectNotFound) {
		return err
	}
	return e.forget(ctx, name)
}

func (e *Engine) forget(ctx context.Context, name string) error {
	return e.objects.Purge(ctx, jetstream.WithPurgeSubject(aboutBlob+base64.URLEncoding.EncodeToString([]byte(name))))
}

// clean is tidy at a start. What it does not come to is for the next one.
func (e *Engine) clean(ctx context.Context) {
	if e.cfg.LookOnly {
		return
	}
	limit, old := least, abandoned
	if e.server != nil { // nobody else writes
		limit, old = chunk, 0
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := e.tidy(ctx, old); err != nil {
		e.cfg.Log.Debug("what is left of old snapshots", "error", err)
	}
}

// tidy deletes what no list of blobs has: parts of one that was not written to its end, as its process was killed,
// and what says that one was deleted. Parts that are not as old as a time may be of another node that writes.
func (e *Engine) tidy(ctx context.Context, old time.Duration) error {
	info, err := e.objects.Info(ctx, jetstream.WithSubjectFilter(partsOfBlob+"*"))
	if err != nil {
		return err
	}
	all, err := e.blobs.List(ctx, jetstream.ListObjectsShowDeleted()) // afterwards: what is whole by now is in it
	if err != nil && !errors.Is(err, jetstream.ErrNoObjectsFound) {
		return err
	}
	parts := info.State.Subjects
	for _, o := range all {
		if !o.Deleted {
			delete(parts, partsOfBlob+o.NUID)
		} else if err := e.forget(ctx, o.Name); err != nil {
			return err
		}
	}
	for subject := range parts {
		if old > 0 {
			last, err := e.objects.GetLastMsgForSubject(ctx, subject)
			if err != nil || info.TimeStamp.Sub(last.Time) < old {
				continue
			}
		}
		if err := e.objects.Purge(ctx, jetstream.WithPurgeSubject(subject)); err != nil {
			return err
		}
	}
	return nil
}
