package blob

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"

	"github.com/alds-dev/alds/internal/store/db"
)

// The type where describes the place of the bytes of a content: the bucket if outside is true, else
// the database.
type where struct {
	id      string
	outside bool
	size    int64
}

// find returns where a content is stored.
// Errors: fault.Internal if the content is missing or has another size, since a version refers to
// it; fault.Transient if its bytes are in a bucket, but no bucket is set.
func (s *Store) find(ctx context.Context, q db.Querier, ref Ref) (where, error) {
	found, err := db.Collect(ctx, q, "SELECT id, outside, size FROM blob_content WHERE hash = ?", []any{ref.Hash}, func(row db.Scanner) (w where, err error) {
		err = row.Scan(&w.id, &w.outside, &w.size)
		return w, err
	})
	if err != nil {
		return where{}, err
	}
	if len(found) == 0 || found[0].size != ref.Size {
		return where{}, fmt.Errorf("content %s of a version is missing or has another size", ref)
	}
	w := found[0]
	if w.outside && s.bucket == nil {
		err = unreachable(errors.New("the content is stored outside of the database, but ALDS_BLOB_URL is not set"))
	}
	return w, err
}

// Reader reads a range of the bytes of a content. It has one part in memory, and uses no database
// connection between two reads.
type Reader struct {
	s        *Store
	ctx      context.Context
	w        where
	from, to int64
	part     []byte        // bytes in memory; from is the offset of the first one
	stream   io.ReadCloser // for a content outside of the database
}

// Open returns a reader of n bytes of a content. The parameter from is the offset of the first of
// these bytes. The content must have all of them. Open already reads the first bytes, so it returns
// an error if the store does not answer. The end of ctx also ends later reads.
// Errors: fault.Transient.
func (s *Store) Open(ctx context.Context, ref Ref, from, n int64) (*Reader, error) {
	r := &Reader{s: s, ctx: ctx, from: from, to: from + n}
	if n == 0 {
		return r, nil
	}
	err := s.db.One(ctx, func(q db.Querier) (err error) {
		r.w, err = s.find(ctx, q, ref)
		return err
	})
	if err != nil {
		return nil, err
	}
	return r, r.fill()
}

// Read reads the next bytes.
func (r *Reader) Read(b []byte) (int, error) {
	if r.from >= r.to {
		return 0, io.EOF
	}
	if len(r.part) == 0 {
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(b, r.part[:min(int64(len(r.part)), r.to-r.from)])
	r.part, r.from = r.part[n:], r.from+int64(n)
	return n, nil
}

// Close ends reading.
func (r *Reader) Close() error {
	if r.stream == nil {
		return nil
	}
	return r.stream.Close()
}

// fill reads the next bytes into part.
func (r *Reader) fill() error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	if r.w.outside {
		return r.fillOutside()
	}
	return r.s.db.One(r.ctx, func(q db.Querier) error {
		part, err := readPart(r.ctx, q, r.w.id, r.from/PartSize)
		if err == nil && int64(len(part)) <= r.from%PartSize {
			err = fmt.Errorf("content %s: part %d is too short", r.w.id, r.from/PartSize)
		}
		if err == nil {
			r.part = part[r.from%PartSize:]
		}
		return err
	})
}

// chunk is the number of bytes of an object that are read at once.
const chunk = 64 << 10

func (r *Reader) fillOutside() (err error) {
	if r.stream == nil {
		if r.stream, err = r.s.bucket.Open(r.ctx, r.w.id, r.from, r.to-r.from); err != nil {
			return unreachable(err)
		}
	}
	buf := make([]byte, min(chunk, r.to-r.from))
	n, err := io.ReadFull(r.stream, buf)
	r.part = buf[:n]
	return unreachable(err)
}

func readPart(ctx context.Context, q db.Querier, id string, n int64) (part []byte, err error) {
	found, err := db.Column[[]byte](ctx, q, "SELECT bytes FROM blob_part WHERE content = ? AND n = ?", id, n)
	if err != nil {
		return nil, err
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("content %s has no part %d", id, n)
	}
	return found[0], nil
}

// AppendBase64 appends the Base64 of a content to w. It reads the content part by part, and uses q
// for all queries.
// Errors: fault.Transient.
func (s *Store) AppendBase64(ctx context.Context, q db.Querier, ref Ref, w []byte) ([]byte, error) {
	if ref.Size == 0 {
		return w, nil
	}
	at, err := s.find(ctx, q, ref)
	if err != nil {
		return w, err
	}
	r := &Reader{s: s, ctx: ctx, w: at, to: ref.Size}
	defer func() { _ = r.Close() }()
	e := &encoder{w: w}
	for n := int64(0); r.from < r.to; n++ {
		if at.outside {
			err = r.fillOutside()
		} else {
			r.part, err = readPart(ctx, q, at.id, n)
		}
		if err == nil && len(r.part) == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return w, err
		}
		e.add(r.part)
		r.from += int64(len(r.part))
	}
	return e.end(), nil
}

// encoder appends the Base64 of bytes that arrive in pieces.
type encoder struct {
	w    []byte
	left []byte // rest of the last piece: fewer than three bytes
}

func (e *encoder) add(b []byte) {
	if len(e.left) > 0 {
		n := min(3-len(e.left), len(b))
		e.left, b = append(e.left, b[:n]...), b[n:]
		if len(e.left) < 3 {
			return
		}
		e.w = base64.StdEncoding.AppendEncode(e.w, e.left)
	}
	whole := len(b) / 3 * 3
	e.w = base64.StdEncoding.AppendEncode(e.w, b[:whole])
	e.left = append(e.left[:0], b[whole:]...)
}

func (e *encoder) end() []byte { return base64.StdEncoding.AppendEncode(e.w, e.left) }
