package fingerprint

// A nest is the boilerplate that is open, with as much of what is around it as decides where it
// ends. It ends with its own end tag, with that of a boilerplate element or a container around it,
// or where main begins.
type nest struct {
	open   [maxOpen]opened // outermost first
	n      int
	forms  int // open; at most one, as in browsers
	others int // other boilerplate that is open
	firm   int // that of it which is no header, nav or aside

	containers [len(containerTags)]int32 // how many of each are open
	inMain     bool
	hasMain    bool // there was one
}

// opened is a boilerplate element that is open.
type opened struct {
	kind       tagKind
	body       bool  // it counts as body
	blocks     int32 // how many came before it
	containers [len(containerTags)]int32
}

// maxOpen bounds the memory. The elements beyond it count as what they are in.
const maxOpen = 32

// start begins an element, after so many blocks. The header of an article, or in main, holds a
// headline, and is body.
func (s *nest) start(kind tagKind, blocks int) {
	switch {
	case kind == mainTag:
		s.cut(0)
		s.inMain, s.hasMain = true, true
	case kind < container:
	case kind < boilerplate:
		s.containers[kind-container]++
	case kind == formTag && s.forms > 0, s.n == maxOpen:
	default:
		o := opened{kind, kind == headerTag && (s.inMain || s.containers[articleTag-container] > 0), int32(blocks), s.containers}
		s.open[s.n] = o
		s.n++
		s.count(o, 1)
	}
}

func (s *nest) count(o opened, by int) {
	switch {
	case o.body:
	case o.kind == formTag:
		s.forms += by
	default:
		s.others += by
		if o.kind > asideTag {
			s.firm += by
		}
	}
}

// inOpen reports whether a block is in nothing but headers, navs and asides, which may turn out to have
// been left open, and in a form around them.
func (s *nest) inOpen() bool { return s.others > 0 && s.firm == 0 && s.open[s.n-1].kind != formTag }

// end ends an element. Of boilerplate other than forms it returns how many blocks came before, and
// else −1. What is open in an element ends with it, too.
func (s *nest) end(kind tagKind) (blocks int) {
	switch {
	case kind == mainTag:
		s.inMain = false
	case kind < container:
	case kind < boilerplate:
		i := kind - container
		if s.containers[i] == 0 {
			break
		}
		n := s.n
		for n > 0 && s.open[n-1].containers[i] >= s.containers[i] {
			n--
		}
		s.containers[i]--
		s.cut(n)
	default:
		for n := s.n; n > 0; n-- {
			if o := s.open[n-1]; o.kind == kind {
				s.containers = o.containers
				s.cut(n - 1)
				if o.body || kind == formTag {
					return -1
				}
				return int(o.blocks)
			}
		}
	}
	return -1
}

// cut ends all boilerplate but the outermost n.
func (s *nest) cut(n int) {
	for s.n > n {
		s.n--
		s.count(s.open[s.n], -1)
	}
}
