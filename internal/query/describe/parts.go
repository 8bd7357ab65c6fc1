package describe

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"sync"

	"github.com/alds-dev/alds/internal/model/meta"
)

// typesPerPart is the number of types that are compressed together. Single types would take a
// tenth more space; larger parts would cause more work when one type changes.
const typesPerPart = 4

// sum identifies the text of a part.
type sum = [sha256.Size]byte

// parts has the compressed parts of the last description of the whole model, for each form. A new
// attribute changes few parts; the other parts need not be compressed again. The type parts is safe
// for concurrent use.
type parts struct {
	mu   sync.Mutex
	last map[form]whole
}

// whole has the data about the description of a whole model that is reused for the next model.
type whole struct {
	size int            // size of the text of the description, in bytes
	flat map[sum][]byte // compressed parts, by the sum of their text
}

// of returns the whole that was kept for a form.
func (p *parts) of(f form) whole {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last[f]
}

// keep replaces the whole of a form.
func (p *parts) keep(f form, w whole) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last[f] = w
}

// packer makes a document from consecutive parts.
type packer struct {
	last whole // from the previous document
	made whole
	text []byte
	from int // start of the current part in text
	gzip bytes.Buffer
	z    *flate.Writer
	sums []byte // of the parts so far
}

// slack is the number of bytes by which a document may be larger than the previous document before
// its text must be copied to a larger buffer.
const slack = 64 << 10

func newPacker(last whole) *packer {
	p := &packer{last: last, made: whole{flat: make(map[sum][]byte, len(last.flat))}}
	p.text = make([]byte, 0, max(last.size, modelSize)+slack)
	p.gzip.Write([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}) // RFC 1952, 2.3: no name, no time, any system
	return p
}

// types appends the description of each type with encode, which gets the index of the type. It ends
// a part after every typesPerPart types.
func (p *packer) types(m *meta.Model, encode func(w []byte, i int, t *Type) []byte) {
	p.end()
	for i, t := range m.Types {
		of := Of(m, t)
		p.text = encode(p.text, i, &of)
		if (i+1)%typesPerPart == 0 {
			p.end()
		}
	}
}

// end ends a part: the text appended since the last end.
func (p *packer) end() {
	text := p.text[p.from:]
	p.from = len(p.text)
	name := sha256.Sum256(text)
	flat, known := p.last.flat[name]
	if !known {
		flat = p.deflate(text)
	}
	p.made.flat[name] = flat
	p.gzip.Write(flat)
	p.sums = append(p.sums, name[:]...)
}

// deflate compresses a part separately. The result ends at a whole byte, so that other parts can
// follow it.
func (p *packer) deflate(text []byte) []byte {
	var w bytes.Buffer
	if p.z == nil {
		p.z, _ = flate.NewWriter(nil, level) // fails for unknown levels
	}
	p.z.Reset(&w)

	// A write to a buffer never fails.
	_, _ = p.z.Write(text)
	_ = p.z.Flush()
	return bytes.Clone(w.Bytes())
}

// document ends the last part. It returns the document, and the whole to keep for its form.
func (p *packer) document() (Document, whole) {
	p.end()
	end := []byte{3, 0} // RFC 1951, 3.2.6: an empty block, the last one
	end = binary.LittleEndian.AppendUint32(end, crc32.ChecksumIEEE(p.text))
	end = binary.LittleEndian.AppendUint32(end, uint32(len(p.text)))
	p.gzip.Write(end)
	p.made.size = len(p.text)
	return Document{Body: p.text, Gzip: bytes.Clone(p.gzip.Bytes()), Tag: tagOf(p.sums)}, p.made
}

// level is the compression level. The best level takes three times as long as this one, and its
// result is a tenth smaller.
const level = 5

func compressed(b []byte) []byte {
	var w bytes.Buffer
	z, _ := gzip.NewWriterLevel(&w, level) // fails for unknown levels

	// A write to a buffer never fails.
	_, _ = z.Write(b)
	_ = z.Close()
	return bytes.Clone(w.Bytes())
}
