package check

import "context"

// payloads expects that every payload to which a delivery refers exists.
func (c *checker) payloads(ctx context.Context) error {
	return c.eachIn(ctx, key{table: "webhook_delivery", column: "id"}, func(scan row) error {
		var audit int64
		var id, payload string
		if err := scan(&audit, &id, &payload); err != nil {
			return err
		}
		return c.report("webhook_delivery", audit, "the delivery %s of this audit has lost its payload %s", id, payload)
	}, `SELECT COALESCE(d.audit_id, 0), d.id, d.payload_id FROM webhook_delivery d`+
		` LEFT JOIN webhook_payload p ON p.id = d.payload_id`+
		` WHERE d.payload_id IS NOT NULL AND p.id IS NULL AND {d.id} ORDER BY d.id`)
}
