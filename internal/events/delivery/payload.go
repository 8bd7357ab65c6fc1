package delivery

import (
	"bytes"
	"context"

	"github.com/alds-dev/alds/internal/store/db"
)

// HeadMark stands in a Payload where each event has the head of its delivery. JSON
// text has no such character.
const HeadMark = 1

// Payload is what several deliveries have in common: a payload without the heads
// of its events. It is a row of webhook_payload.
//
// Shape: {"events":[{\x01"sequenceId":12,...},{\x01"sequenceId":13,...}]}.
type Payload struct {
	ID   string
	Body []byte
}

// body is what is posted.
func (d *Delivery) body() []byte {
	if d.Shared == nil {
		return d.Payload
	}
	return bytes.ReplaceAll(d.Shared.Body, []byte{HeadMark}, d.Head)
}

// size is how many bytes a delivery holds, those that it shares included.
func (d *Delivery) size() int {
	if d.Shared == nil {
		return len(d.Payload)
	}
	return len(d.Shared.Body) + d.Events*len(d.Head)
}

// The columns of a payload, of webhook_delivery d joined with its webhook_payload p.
const (
	payloadColumns = "d.payload, d.head, p.body"
	payloadJoin    = " LEFT JOIN webhook_payload p ON p.id = d.payload_id "
)

// payloadOf puts a payload together from its columns.
func payloadOf(payload, head, shared []byte) []byte {
	if shared == nil {
		return payload
	}
	return (&Delivery{Shared: &Payload{Body: shared}, Head: head}).body()
}

// insertPayloads writes the shared payloads of deliveries that are inserted.
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

// prunePayloads removes the shared payloads that no delivery has any more. A young
// one may be that of deliveries that are not committed yet.
func (s *Store) prunePayloads(ctx context.Context) error {
	return s.remove(ctx, "webhook_payload", "", "SELECT p.id, LENGTH(p.body) FROM webhook_payload p WHERE p.created_at <= "+s.db.Dialect.NowMicros+
		" - ? AND NOT EXISTS (SELECT 1 FROM webhook_delivery d WHERE d.payload_id = p.id) ORDER BY p.created_at LIMIT ?",
		s.retention.Microseconds(), pruneRows)
}
