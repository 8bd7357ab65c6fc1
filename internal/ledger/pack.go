package ledger

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"

	"github.com/alds-dev/alds/internal/fault"
)

const (
	packFrom = 1 << 20  // bytes from which on requests and answers are kept packed
	maxKept  = 15 << 20 // bytes of one column: servers with default settings take 16 MiB at once
)

// pack makes what is kept of b. Neither JSON nor YAML begins like gzip, so
// unpack can tell. Errors: fault.Invalid when it is too large all the same.
func pack(b []byte) ([]byte, error) {
	if len(b) >= packFrom || isPacked(b) {
		var packed bytes.Buffer
		z, err := gzip.NewWriterLevel(&packed, gzip.BestSpeed)
		if err != nil {
			return nil, err
		}
		if _, err = z.Write(b); err == nil {
			err = z.Close()
		}
		if err != nil {
			return nil, err
		}
		b = packed.Bytes()
	}
	if len(b) > maxKept {
		return nil, fault.Invalidf(fault.NoPlace,
			"The request or its answer is too large to be kept: %d bytes when compressed, more than %d. Send it in smaller parts.", len(b), maxKept)
	}
	return b, nil
}

func unpack(b []byte) ([]byte, error) {
	if !isPacked(b) {
		return b, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

func isPacked(b []byte) bool { return len(b) > 1 && b[0] == 0x1f && b[1] == 0x8b }

// failure is how a fault is kept.
type failure struct {
	Kind    fault.Kind `json:"kind"`
	Message string     `json:"message"`
	At      int        `json:"at"`
}

func packFault(err error) []byte {
	b, _ := json.Marshal(failure{fault.KindOf(err), fault.Public(err), fault.Place(err)}) // cannot fail
	return b
}

func unpackFault(b []byte) error {
	var f failure
	if err := json.Unmarshal(b, &f); err != nil {
		return fmt.Errorf("a kept failure: %w", err)
	}
	return &fault.Error{Kind: f.Kind, Msg: f.Message, At: f.At}
}
