package delivery

import (
	"bytes"
	"context"
	"slices"

	"github.com/alds-dev/alds/internal/store/db"
)

// MaxEvents and MaxBytes limit one delivery. A delivery with a single event may be larger than
// MaxBytes.
const (
	MaxEvents = 100
	MaxBytes  = 256 << 10
)

// The start and the end of every payload.
const (
	payloadStart = `{"events":[`
	payloadEnd   = `]}`
)

// mayGrow reports whether a batch could contain d and another delivery of the same size. batch is
// the maximum number of events in a batch.
func (d *Delivery) mayGrow(batch int) bool { return 2*d.Events <= batch && 2*d.size() <= MaxBytes }

// batches splits deliveries into batches. The deliveries of a batch can be merged: they are fresh
// (see Delivery.fresh), and together they have at most MaxBytes bytes. The parameter most is the
// maximum number of their events. A delivery that cannot be merged is a batch with one element.
func batches(all []*Delivery, most int) [][]*Delivery {
	var found [][]*Delivery
	events, size := 0, 0
	for i, d := range all {
		if i > 0 && d.fresh && all[i-1].fresh && events+d.Events <= most && size+d.size() <= MaxBytes {
			last := len(found) - 1
			found[last] = append(found[last], d)
			events, size = events+d.Events, size+d.size()
			continue
		}
		found = append(found, []*Delivery{d})
		events, size = d.Events, d.size()
	}
	return found
}

// merged returns the deliveries of a batch as one delivery, which has the id of the first delivery.
// It returns nil if the batch has fewer than two deliveries, or if a payload does not begin with
// payloadStart and end with payloadEnd.
func merged(batch []*Delivery) *Delivery {
	if len(batch) < 2 {
		return nil
	}
	one := *batch[0]
	one.Events, one.Shared, one.Head = 0, nil, nil
	one.Payload = []byte(payloadStart)
	for i, d := range batch {
		events, ok := bytes.CutPrefix(d.body(), []byte(payloadStart))
		events, whole := bytes.CutSuffix(events, []byte(payloadEnd))
		if !ok || !whole {
			return nil
		}
		if i > 0 {
			one.Payload = append(one.Payload, ',')
		}
		one.Payload = append(one.Payload, events...)
		one.Events += d.Events
		one.Last, one.Committed, one.since = max(one.Last, d.Last), max(one.Committed, d.Committed), min(one.since, d.since)
	}
	one.Payload = append(one.Payload, payloadEnd...)
	return &one
}

// merge merges claimed deliveries into larger deliveries, in memory and in the table. It does not
// change a delivery that was sent before.
func (s *Sender) merge(ctx context.Context, tx *db.Tx, all []*Delivery, r *receiver) ([]*Delivery, error) {
	var kept []*Delivery
	var gone []string
	together := batches(all, r.maxBatch())
	if r.ordered {
		together = byAsset(all)
	}
	for _, batch := range together {
		one := merged(batch)
		if one == nil {
			kept = append(kept, batch...)
			continue
		}
		_, err := tx.Exec(ctx, `UPDATE webhook_delivery SET last_moment = ?, events = ?, payload = ?, payload_id = NULL, head = NULL,
			committed_at = ?, created_at = ? WHERE id = ?`, one.Last, one.Events, one.Payload, one.Committed, one.since, one.ID)
		if err != nil {
			return nil, err
		}
		for _, d := range batch[1:] {
			gone = append(gone, d.ID)
		}
		kept = append(kept, one)
	}
	for part := range slices.Chunk(gone, db.MaxIn) {
		in, args := db.InArgs(part)
		if _, err := tx.Exec(ctx, "DELETE FROM webhook_delivery WHERE id IN "+in, args...); err != nil {
			return nil, err
		}
	}
	return kept, nil
}
