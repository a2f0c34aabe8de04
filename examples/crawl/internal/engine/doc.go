// Package engine keeps the state of a crawler in NATS JetStream: for each shard a log of what
// was found, and snapshots. The server runs within the process, with its files in a folder, or
// elsewhere at an address; nothing else differs.
//
// Open an Engine, Own a shard, Restore what is known of it, and then Append and Snapshot.
//
// # Guarantees
//
// A record whose Append returned nil is there after a kill of the process or of the server, and
// is handed to Restore once, in order. A shard has one owner: one that lost its lease, even
// without knowing, cannot append any more, as each record names the one before it and the stream
// refuses it otherwise. With the default sync, a loss of power can take up to two minutes of
// records; of servers elsewhere, that is a setting of theirs. What was there before is restored.
// Nothing is promised while most servers of a cluster are gone, nor of servers that are removed
// from it for good.
//
// # How it works
//
// One stream has the subjects crawl.N.log and crawl.N.snap for shard N. In a cluster a Board says
// which nodes are there and which of them owns the shard (see Session); in any case a record of
// takeover ends the chain of any owner before.
// A snapshot is a blob in an object store under a name of its own; then a pointer to it is
// written on the condition that the log's chain is unbroken. The pointer also names the snapshot
// before, for where the newest is damaged, and one that is old enough to be synced, with the next
// that will be. The log is purged up to the last record of the synced one. So two to four snapshots are
// kept, and of the log twice the three minutes after which all is taken to be synced, or more where
// snapshots are rarer. Blobs that no pointer names are deleted by the next owner, as far as they are
// older than its record of takeover.
//
// Where the log lost records that a snapshot holds, the newest such snapshot is restored, if the server
// is within the process, and the log says so. In a cluster the pointer says what counts, unless it is
// lost, too. If no snapshot can be read and the log alone will not do, Restore fails: it never begins
// anew in silence.
package engine
