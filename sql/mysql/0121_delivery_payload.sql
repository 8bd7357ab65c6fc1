ALTER TABLE webhook_delivery ADD COLUMN payload_id CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL, ADD KEY webhook_delivery_payload (payload_id);
