package fingerprint

// A nest is the boilerplate that is open, together with the elements around it that decide where it
// ends. A boilerplate element ends with its own end tag, with the end tag of a boilerplate element
// or container around it, or where main begins.
type nest struct {
	open   [maxOpen]opened // outermost first
	n      int
	forms  int // open forms; at most one, as in browsers
	others int // other boilerplate that is open
	firm   int // how much of the others is no header, nav or aside

	containers [len(containerTags)]int32 // how many of each are open
	inMain     bool
	hasMain    bool // there was a main
}

// opened is a boilerplate element that is open.
type opened struct {
	kind       tagKind
	body       bool  // it counts as body
	blocks     int32 // how many blocks came before it
	containers [len(containerTags)]int32
}

// maxOpen bounds the memory. Elements beyond it count as part of the element that they are in.
const maxOpen = 32

// start begins an element. blocks is the number of blocks before it. The header of an article, or
// in main, holds a headline and is body.
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

// inOpen reports whether the only boilerplate around a block is headers, navs and asides, which may
// turn out to have been left open, and perhaps a form around these.
func (s *nest) inOpen() bool { return s.others > 0 && s.firm == 0 && s.open[s.n-1].kind != formTag }

// end ends an element, and with it what is open in it. For boilerplate other than forms it returns
// how many blocks came before the element, otherwise −1.
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

// cut ends all boilerplate but the outermost n elements.
func (s *nest) cut(n int) {
	for s.n > n {
		s.n--
		s.count(s.open[s.n], -1)
	}
}
