package event

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/alds-dev/alds/internal/model/value"
)

// maxKept is the maximum size in bytes of a value that a reduced event still contains.
const maxKept = 1024

// reference returns the text that replaces a long value: sha256:<64 hexadecimal digits>:<bytes>.
func reference(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:]) + ":" + strconv.Itoa(len(text))
}

// reduced returns a value of a change, or a reference if the form replaces the value. The second
// result is true for a reference.
func reduced(v any, form Form) (any, bool) {
	if text, ok := v.(string); ok && form == Reduced && len(text) > maxKept {
		return reference([]byte(text)), true
	}
	return v, false
}

// appendReduced appends a row of a snapshot, with references in place of long values. The reference
// of a text is computed from its characters, and the reference of any other value from its JSON. In
// the form Bare, the row contains only the Oid.
func appendReduced(b []byte, row json.RawMessage, form Form) ([]byte, error) {
	members := json.NewDecoder(bytes.NewReader(row))
	_, err := members.Token() // the opening brace
	b = append(b, '{')
	for n := 0; err == nil && members.More(); {
		var key json.Token
		var text json.RawMessage
		if key, err = members.Token(); err == nil {
			err = members.Decode(&text)
		}
		name, _ := key.(string)
		if err != nil || form == Bare && name != "_oid" {
			continue
		}
		if n++; n > 1 {
			b = append(b, ',')
		}
		b = append(value.AppendString(b, name), ':')
		b = appendShort(b, text)
	}
	if err != nil {
		return nil, fmt.Errorf("reduce a row: %w", err)
	}
	return append(b, '}'), nil
}

// appendShort appends a value of a row, or a reference to the value if it is long.
func appendShort(b []byte, v json.RawMessage) []byte {
	if len(v) <= maxKept {
		return append(b, v...)
	}
	var text string
	if json.Unmarshal(v, &text) == nil {
		v = json.RawMessage(text)
	}
	return value.AppendString(b, reference(v))
}
