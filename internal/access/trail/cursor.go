package trail

import (
	"encoding/base64"
	"encoding/binary"
)

// place is the position of a row in the order of time. Clients see its text as the id of the
// event. A page that begins after the event has this text as its cursor.
type place struct{ at, id int64 }

func (p place) String() string {
	b := binary.BigEndian.AppendUint64(nil, uint64(p.at))                                       //nolint:gosec // reversed below
	return base64.RawURLEncoding.EncodeToString(binary.BigEndian.AppendUint64(b, uint64(p.id))) //nolint:gosec // likewise
}

func parsePlace(text string) (place, bool) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) != 16 {
		return place{}, false
	}
	return place{int64(binary.BigEndian.Uint64(b)), int64(binary.BigEndian.Uint64(b[8:]))}, true //nolint:gosec // as String made it
}
