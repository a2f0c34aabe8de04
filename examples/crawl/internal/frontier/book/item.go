package book

// An Item is what is known of a URL.
type Item struct {
	URL, Meta string
	Date      uint64 // Unix seconds; 0 if it is never to be given again
	Created   uint64 // Unix seconds
	Fetched   bool   // put back by a client at least once
	Leased    bool
	Due       float64
	Learnt    bool // whether there was a copy to learn from
}

// Item returns what is known of the URL at a position.
func (q *Queue) Item(pos uint32) Item {
	u := &q.urls[pos]
	return Item{
		URL: u.text, Meta: u.meta, Date: u.date, Created: uint64(u.created), Due: u.due,
		Fetched: u.is(fetched), Leased: u.is(leased), Learnt: u.page != none,
	}
}
