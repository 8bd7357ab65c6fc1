package describe

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"hash/crc32"
	"sync"
)

// typesPerPart is how many types are compressed together. Alone they take a tenth
// more room, and of more a change of one makes more work.
const typesPerPart = 4

// sum tells the text of a part from all others.
type sum = [sha256.Size]byte

// parts are the compressed parts of the whole models described last, one for each
// base. A new attribute changes few parts; the others are compressed already. It is
// safe for concurrent use.
type parts struct {
	mu   sync.Mutex
	last map[string]whole
}

// whole is what is kept of the description of a whole model.
type whole struct {
	size int            // of its JSON
	flat map[sum][]byte // its parts, compressed
}

// of returns what is kept for a base.
func (p *parts) of(base string) whole {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last[base]
}

// keep replaces what is kept for a base.
func (p *parts) keep(base string, w whole) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.last[base] = w
}

// packer makes a document of parts that follow each other.
type packer struct {
	last whole // of the document before
	made whole
	json []byte
	gzip bytes.Buffer
	z    *flate.Writer
	sums []byte // of the parts so far
}

// slack is by how much a document may outgrow the one before without being copied.
const slack = 64 << 10

func newPacker(last whole) *packer {
	p := &packer{last: last, made: whole{flat: make(map[sum][]byte, len(last.flat))}}
	p.json = make([]byte, 0, max(last.size, modelSize)+slack)
	p.gzip.Write([]byte{0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255}) // RFC 1952, 2.3: no name, no time, any system
	return p
}

// add ends a part: what was appended to json since from.
func (p *packer) add(from int) {
	text := p.json[from:]
	name := sha256.Sum256(text)
	flat, known := p.last.flat[name]
	if !known {
		flat = p.deflate(text)
	}
	p.made.flat[name] = flat
	p.gzip.Write(flat)
	p.sums = append(p.sums, name[:]...)
}

// deflate compresses a part by itself, to whole bytes, so that others may follow.
func (p *packer) deflate(text []byte) []byte {
	var w bytes.Buffer
	if p.z == nil {
		p.z, _ = flate.NewWriter(nil, level) // fails for unknown levels
	}
	p.z.Reset(&w)

	// A buffer takes everything.
	_, _ = p.z.Write(text)
	_ = p.z.Flush()
	return bytes.Clone(w.Bytes())
}

// document returns the parts as one, and what is to be kept of it.
func (p *packer) document() (Document, whole) {
	end := []byte{3, 0} // RFC 1951, 3.2.6: an empty block, the last one
	end = binary.LittleEndian.AppendUint32(end, crc32.ChecksumIEEE(p.json))
	end = binary.LittleEndian.AppendUint32(end, uint32(len(p.json)))
	p.gzip.Write(end)
	d := document(p.sums)
	d.JSON, d.Gzip = p.json, bytes.Clone(p.gzip.Bytes())
	p.made.size = len(p.json)
	return d, p.made
}

// level is that of the compression: the best takes three times as long and saves a
// tenth.
const level = 5

func compressed(b []byte) []byte {
	var w bytes.Buffer
	z, _ := gzip.NewWriterLevel(&w, level) // fails for unknown levels

	// A buffer takes everything.
	_, _ = z.Write(b)
	_ = z.Close()
	return bytes.Clone(w.Bytes())
}
