package cluster

import (
	"encoding/json"
	"log/slog"
)

// About is what a node tells the others of itself.
type About struct {
	Power  float64 `json:"power"`  // what it can do, beside the others
	Budget float64 `json:"budget"` // polls a second of the whole crawl, as it was told
	Leaves bool    `json:"leaves,omitempty"`
	// Key is that of the node's identity, by which its relay is known and the others' know it. Relay
	// is the address of its relay, empty for none, and Point the name of the access point.
	Key   string `json:"key,omitempty"`
	Relay string `json:"relay,omitempty"`
	Point string `json:"point,omitempty"`
}

// Present returns the nodes that are there, those that leave included, by what has arrived of the
// board.
func (n *Node) Present() map[string]About {
	present := map[string]About{}
	for name, text := range n.board.Members() {
		about := About{Power: 1}
		_ = json.Unmarshal(text, &about) // of another version: what can be read of it
		present[name] = about
	}
	return present
}

// members returns the nodes that shards may be given to.
func (n *Node) members() map[string]About {
	members := n.Present()
	for name, about := range members {
		if about.Leaves {
			delete(members, name)
		}
		if b := about.Budget; b > 0 && b != n.cfg.Budget && !n.warned {
			n.warned = true
			slog.Warn("another node was told another budget; all nodes should be told that of the whole crawl", "node", name, "per day", b*86400)
		}
	}
	return members
}
