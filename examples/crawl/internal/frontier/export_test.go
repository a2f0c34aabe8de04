package frontier

const (
	LongestMessage = longestMessage
	MostURLs       = mostURLs
	InFlightBytes  = inFlightBytes
)

// Hurry has the server wait for nobody when it is to stop.
func (s *Server) Hurry() { s.goodbye, s.lastRecord, s.journal.lastSnapshot = 0, 0, 0 }
