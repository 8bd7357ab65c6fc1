ALTER TABLE webhook_delivery ADD COLUMN head BLOB NULL;
