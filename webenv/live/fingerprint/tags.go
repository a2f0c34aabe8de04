package fingerprint

import "strings"

// A tagKind is what the tokenizer does at a tag.
type tagKind uint8

const (
	breaks      tagKind                                   = iota // ends a block; every tag that is not listed
	inline                                                       // stands inside a block
	raw                                                          // its content is skipped, up to the end tag, and holds no tags
	textOnly                                                     // its content holds no tags
	svgTag                                                       // its content is skipped, and may hold others of its kind
	inHead                                                       // ends a block; may stand in the head
	head                                                         // what is in it is boilerplate
	mainTag                                                      // what is in it is body, whatever is around it
	container                                                    // and those above it: the containers, one kind each
	boilerplate = container + tagKind(len(containerTags))        // and those above it: the boilerplate tags
)

// Names longer than longestName are not listed.
const longestName = 8

// packed returns a name of at most eight small letters as one number.
func packed(name string) (n uint64) {
	for i := range len(name) {
		n = n<<8 | uint64(name[i])
	}
	return n
}

var (
	htmlName = packed("html")
	mathName = packed("math")
	rowName  = packed("tr")
	cellName = packed("td")
)

// leaves are the tags at which browsers leave an svg or math that somebody forgot to close. They
// are those of the HTML standard, section 13.2.6.5, except blockquote, which is longer than
// longestName, and font, which counts only with some attributes.
var leaves = func() map[uint64]bool {
	names := make(map[uint64]bool)
	for name := range strings.FieldsSeq(`b big body br center code dd div dl dt em embed h1 h2 h3 h4 h5 h6 head hr i img
		li listing menu meta nobr ol p pre ruby s small span strong strike sub sup table tt u ul var`) {
		names[packed(name)] = true
	}
	return names
}()

// containerTags are the tags whose end also ends the boilerplate that began in them.
var containerTags = [...]string{"article", "div", "section"}

// boilerplateTags are the tags whose content is boilerplate.
var boilerplateTags = [...]string{"form", "header", "nav", "aside", "footer", "button", "select", "dialog", "menu"}

// The kinds of some of these tags.
const (
	articleTag = container
	formTag    = boilerplate
	headerTag  = boilerplate + 1
	asideTag   = boilerplate + 3
)

var tagKinds = func() map[uint64]tagKind {
	kinds := make(map[uint64]tagKind)
	for kind, names := range map[tagKind][]string{
		inline: {"a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font",
			"i", "img", "ins", "kbd", "label", "mark", "nobr", "q", "rp", "rt", "ruby", "s", "samp", "small", "span",
			"strike", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr"},
		raw:      {"script", "style", "noscript", "iframe"},
		textOnly: {"title", "textarea"},
		svgTag:   {"svg"},
		inHead:   {"meta", "link", "base", "html"},
		head:     {"head"},
		mainTag:  {"main"},
	} {
		for _, name := range names {
			kinds[packed(name)] = kind
		}
	}
	for i, name := range containerTags {
		kinds[packed(name)] = container + tagKind(i)
	}
	for i, name := range boilerplateTags {
		kinds[packed(name)] = boilerplate + tagKind(i)
	}
	return kinds
}()
