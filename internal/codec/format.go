package codec

import (
	"encoding/binary"
	"hash/crc32"
)

// A Format is how the values of one type are saved: a magic string, which is
// "recrawl/package.Type", and a version. With it the two methods of a saved type are
// one line each:
//
//	var counterFormat = codec.Format{Magic: "recrawl/demo.Counter", Version: 1}
//
//	func (c *Counter) MarshalBinary() ([]byte, error) { return counterFormat.Save(c.encode) }
//	func (c *Counter) UnmarshalBinary(data []byte) error {
//		return codec.Load(c, counterFormat, data, (*Counter).decode)
//	}
//
// where encode writes the fields to an [Encoder] and decode reads them from a [Decoder]
// into a zero value, in the same order.
type Format struct {
	Magic   string
	Version byte
}

// Save returns what encode writes, as a record of the format.
func (f Format) Save(encode func(*Encoder)) ([]byte, error) {
	e := NewEncoder(f.Magic, f.Version)
	encode(e)
	return e.Finish()
}

// Load reads a record of the format. The decode function fills a zero value; only if it
// and the decoder find nothing wrong, and all bytes are read, that is assigned to *to.
// Otherwise *to stays as it was, and the error is [ErrCorrupt].
//
// After an error of the decoder the values read are zeros, and it may end early; it must
// not panic then. A decoder that needs something of the receiver, such as the problem to
// which the state belongs, is a closure.
func Load[T any](to *T, f Format, data []byte, decode func(*T, *Decoder)) error {
	d, err := NewDecoder(data, f.Magic, f.Version)
	if err != nil {
		return err
	}
	var v T
	decode(&v, d)
	if err := d.Done(); err != nil {
		return err
	}
	*to = v
	return nil
}

// Seal returns body, which begins with a header, with its checksum behind it. The tests
// forge data with it.
func Seal(body []byte) []byte {
	return binary.LittleEndian.AppendUint32(body, crc32.Checksum(body, castagnoli))
}
