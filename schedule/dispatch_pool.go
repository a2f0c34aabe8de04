package schedule

// A pool is the sites of a list that wait for any client, in the order of the list. After it is
// made, sites are only taken out.
type pool struct {
	sites []int32 // None where one was taken
	left  int     // number of sites left
	first int     // index before which no site is left
	// from is the index at which each client continues. The sites before it were taken, or the
	// client may not have them. A client that may not have a site never may, so each client looks
	// at each site once. A client that starts from the beginning, as after a restore, takes the
	// same site.
	from []int
}

func newPool(clients int) pool { return pool{from: make([]int, clients)} }

// add puts a site at the end. It is used only while the list is made.
func (l *pool) add(z int32) {
	l.sites = append(l.sites, z)
	l.left++
}

// remove takes out the site at index k.
func (l *pool) remove(k int) {
	l.sites[k] = None
	l.left--
	for l.first < len(l.sites) && l.sites[l.first] == None {
		l.first++
	}
}

// draw removes and returns the first site of the pool that a client may have.
func (d *Dispatcher) draw(client int) int32 {
	l := &d.pool
	for k := max(l.first, l.from[client]); k < len(l.sites); k++ {
		d.looks.Spend(1)
		if z := l.sites[k]; z != None && d.may(client, z) {
			l.from[client] = k + 1
			l.remove(k)
			d.taken(z)
			return z
		}
	}
	l.from[client] = len(l.sites)
	return None
}
