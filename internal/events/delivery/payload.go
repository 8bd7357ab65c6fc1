package delivery

import (
	"bytes"
	"context"

	"github.com/alds-dev/alds/internal/store/db"
)

// HeadMark is the character in a Payload that stands for the head of an event. JSON text cannot
// contain this character.
const HeadMark = 1

// Payload is a payload that several deliveries share. It is a row of webhook_payload. In Body, a
// HeadMark stands for the head of each event, which differs between the deliveries. Example:
// {"events":[{\x01"sequenceId":12,...},{\x01"sequenceId":13,...}]}.
type Payload struct {
	ID   string
	Body []byte
}

// body returns the body of the request.
func (d *Delivery) body() []byte {
	if d.Shared == nil {
		return d.Payload
	}
	return bytes.ReplaceAll(d.Shared.Body, []byte{HeadMark}, d.Head)
}

// size returns the size of the body in bytes, or a slightly larger number.
func (d *Delivery) size() int {
	if d.Shared == nil {
		return len(d.Payload)
	}
	return len(d.Shared.Body) + d.Events*len(d.Head)
}

// The columns of a payload for SQL, and the join for these columns. The table webhook_delivery has
// the alias d.
const (
	payloadColumns = "d.payload, d.head, p.body"
	payloadJoin    = " LEFT JOIN webhook_payload p ON p.id = d.payload_id "
)

// payloadOf returns the body of a request from the values of payloadColumns.
func payloadOf(payload, head, shared []byte) []byte {
	if shared == nil {
		return payload
	}
	return (&Delivery{Shared: &Payload{Body: shared}, Head: head}).body()
}

// insertPayloads writes the shared payloads of new deliveries.
func (s *Store) insertPayloads(ctx context.Context, tx *db.Tx, all []*Delivery, now int64) error {
	var rows [][]any
	size, stored := 0, map[*Payload]bool{}
	for _, d := range all {
		if d.Shared == nil || stored[d.Shared] {
			continue
		}
		stored[d.Shared] = true
		rows = append(rows, []any{d.Shared.ID, d.Shared.Body, now})
		if size += len(d.Shared.Body); size >= insertBytes {
			if err := db.Insert(ctx, tx, "webhook_payload", sharedColumns, rows); err != nil {
				return err
			}
			rows, size = nil, 0
		}
	}
	return db.Insert(ctx, tx, "webhook_payload", sharedColumns, rows)
}

var sharedColumns = []string{"id", "body", "created_at"}

// prunePayloads removes shared payloads to which no delivery refers. It keeps payloads that are
// younger than the retention, because their deliveries may not be committed yet.
func (s *Store) prunePayloads(ctx context.Context) error {
	return s.remove(ctx, "webhook_payload", "", "SELECT p.id, LENGTH(p.body) FROM webhook_payload p WHERE p.created_at <= "+s.db.Dialect.NowMicros+
		" - ? AND NOT EXISTS (SELECT 1 FROM webhook_delivery d WHERE d.payload_id = p.id) ORDER BY p.created_at LIMIT ?",
		s.retention.Microseconds(), pruneRows)
}
