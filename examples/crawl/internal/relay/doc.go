// Package relay lets the nodes of a cluster fetch pages from each other's place on the net.
//
// A node that offers itself runs a [Server]. Others make a [Peer] of it, which is a
// http.RoundTripper: the request goes to the node, which sends it on from where it is, and passes
// the answer back.
//
// # Who may
//
// Each node makes a key when it starts, an [Identity], and says on the board of the cluster what its
// public half is. The two ends of a connection, which is TLS, each check that the other has a key of
// the board. So there is no secret that is kept or sent, and a node that is gone from the board is
// served no more. Whoever can write to the board is a member.
//
// # What a relay does
//
// It sends GET requests, as many at a time as it has turns for, and to public addresses only if its
// access point is one of outside, see [fetch.ParsePoint]. While its node is not sure that it is a
// member it sends nothing: a node that was stopped for long must not send late what was asked of it
// before. Who was left without an answer waits as long as that takes; see Hold of [fetch.Point].
package relay
