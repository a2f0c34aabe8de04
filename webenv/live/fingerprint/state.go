package fingerprint

import (
	"slices"

	"github.com/recrawl/recrawl/internal/codec"
)

var pageFormat = codec.Format{Magic: "recrawl/webenv/live/fingerprint.Page", Version: 2}

// MarshalBinary implements [encoding.BinaryMarshaler]. It saves the page: 12 bytes a block, 11 in JSON, 7
// a noisy place, and 86.
func (p *Page) MarshalBinary() ([]byte, error) { return pageFormat.Save(p.encode) }

// UnmarshalBinary implements [encoding.BinaryUnmarshaler]. It replaces the page. An error wraps
// [ErrCorrupt] and changes nothing.
func (p *Page) UnmarshalBinary(data []byte) error {
	return codec.Load(p, pageFormat, data, (*Page).decode)
}

// What the latest copy was compared by, as it is saved.
const (
	byBlocksAlone = iota // that have no kinds, as in states of earlier versions
	byBytes
	byValues // of JSON, which have no kinds
	byBlocks
)

func (p *Page) compared() byte {
	switch {
	case p.plain:
		return byBytes
	case p.json:
		return byValues
	case slices.ContainsFunc(p.entries, func(v entry) bool { return v.kind != 0 }):
		return byBlocks
	}
	return byBlocksAlone
}

func (p *Page) encode(e *codec.Encoder) {
	compared := p.compared()
	e.Bool(p.Numbers)
	e.Byte(compared)
	e.Bool(p.apart)
	e.Byte(p.copies)
	e.Byte(p.streak)
	e.Byte(p.patience)
	for _, c := range p.sum {
		e.Byte(c)
	}
	e.Int(len(p.entries))
	for _, v := range p.entries {
		e.Uint32(v.hash)
		e.Uint32(v.place)
		e.Byte(v.run)
		e.Byte(v.gone)
		e.Byte(v.flags)
		if compared == byBlocks {
			e.Byte(byte(v.kind))
		}
	}
	e.Int(len(p.places))
	for _, v := range p.places {
		e.Uint32(v.hash)
		e.Uint16(v.hits)
		e.Byte(v.width)
	}
}

func (p *Page) decode(d *codec.Decoder) {
	p.Numbers = d.Bool()
	compared := d.ByteIn(0, byBlocks)
	p.plain, p.json = compared == byBytes, compared == byValues
	p.apart, p.copies = d.Bool(), d.Byte()
	p.streak, p.patience = d.Byte(), d.ByteIn(0, mostPatience)
	// For pages that are compared byte by byte, earlier versions counted the streak without end. It
	// means nothing there.
	d.Require(p.plain || p.streak <= mostPatience, "%d changes in a row", p.streak)
	for i := range p.sum {
		p.sum[i] = d.Byte()
	}
	d.Require(p.copies > 0 || !p.apart && !p.json, "a copy of none")
	size := 11
	if compared == byBlocks {
		size++
	}
	n := d.Count(size)
	d.Require(n <= maxEntries, "%d blocks", n)
	d.Require((n > 0) == (p.copies > 0 && !p.plain), "%d blocks of %d copies", n, p.copies)
	if d.Err() != nil {
		return
	}
	p.entries = make([]entry, n)
	for i := range p.entries {
		v := entry{hash: d.Uint32(), place: d.Uint32(), run: d.Byte(), gone: d.ByteIn(0, forgetRotating-1), flags: d.Byte()}
		if compared == byBlocks {
			v.kind = kind(d.Byte())
		}
		d.Require(v.hash > 0 && (i == 0 || v.hash > p.entries[i-1].hash), "block %d out of order", i)
		d.Require(v.flags&^allFlags == 0 && (v.run > 0) == (v.gone == 0), "block %d contradicts itself", i)
		p.entries[i] = v
	}
	d.Require(p.compared() == compared, "no block has a kind")
	n = d.Count(7)
	d.Require(n <= maxPlaces, "%d places", n)
	if d.Err() != nil || n == 0 {
		return
	}
	p.places = make([]place, n)
	for i := range p.places {
		v := place{d.Uint32(), d.Uint16(), d.ByteIn(1, mostWidth)}
		d.Require(v.hits > 0 && (i == 0 || v.hash > p.places[i-1].hash), "place %d out of order", i)
		p.places[i] = v
	}
}
