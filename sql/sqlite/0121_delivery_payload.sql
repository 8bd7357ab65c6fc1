ALTER TABLE webhook_delivery ADD COLUMN payload_id TEXT NULL;
CREATE INDEX IF NOT EXISTS webhook_delivery_payload ON webhook_delivery (payload_id);
