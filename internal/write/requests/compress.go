package requests

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"

	"github.com/alds-dev/alds/internal/base/fault"
	"github.com/alds-dev/alds/internal/limits/memory"
)

const (
	compressFrom = 1 << 20 // requests and answers of at least this many bytes are stored compressed
	// maxStored is the largest number of bytes in one column. Database servers with default
	// settings accept packets of 16 MiB.
	maxStored = 15 << 20
)

// compress returns the stored form of b. If b has at least compressFrom bytes, or looks like
// gzip, the stored form is gzip. Otherwise it is b. JSON and YAML do not begin like gzip, so
// decompress recognizes the compressed form.
// Errors: fault.Invalid if the stored form is too large.
func compress(b []byte) ([]byte, error) {
	if len(b) >= compressFrom || isCompressed(b) {
		var out storedBuffer
		z, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
		if err != nil {
			return nil, err
		}
		if _, err = z.Write(b); err == nil {
			err = z.Close()
		}
		if err != nil {
			return nil, err
		}
		b = out.Bytes()
	}
	return b, nil
}

// storedBuffer accepts at most maxStored bytes.
type storedBuffer struct{ bytes.Buffer }

// Write appends b.
// Errors: fault.Invalid if the stored form is too large.
func (s *storedBuffer) Write(b []byte) (int, error) {
	if s.Len()+len(b) > maxStored {
		return 0, fault.Invalidf(fault.NoPlace,
			"The request or its answer is too large to be kept: more than %d bytes when compressed. Send it in smaller parts.", maxStored)
	}
	return s.Buffer.Write(b)
}

// decompress returns the bytes that were passed to compress. If b is compressed, decompress first
// adds their number to the memory reservation of ctx. It reads that number from the last bytes of
// b, where gzip stores the size of the content.
// Errors: those of memory.Hold.
func decompress(ctx context.Context, b []byte) ([]byte, error) {
	if !isCompressed(b) {
		return b, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	size := binary.LittleEndian.Uint32(b[len(b)-4:])
	if err := memory.From(ctx).Take(int64(size)); err != nil {
		return nil, err
	}
	content := make([]byte, size)
	_, err = io.ReadFull(z, content)
	return content, err
}

func isCompressed(b []byte) bool { return len(b) > 1 && b[0] == 0x1f && b[1] == 0x8b }

// storedFault is the stored form of a fault.
type storedFault struct {
	Kind    fault.Kind `json:"kind"`
	Message string     `json:"message"`
	At      int        `json:"at"`
}

func encodeFault(err error) []byte {
	// Marshal cannot fail here.
	b, _ := json.Marshal(storedFault{fault.KindOf(err), fault.Public(err), fault.Place(err)})
	return b
}

func decodeFault(b []byte) error {
	var f storedFault
	if err := json.Unmarshal(b, &f); err != nil {
		return fmt.Errorf("decode a stored fault: %w", err)
	}
	return &fault.Error{Kind: f.Kind, Msg: f.Message, At: f.At}
}
