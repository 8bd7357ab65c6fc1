ALTER TABLE webhook_receipt ADD COLUMN given_up TEXT NULL;
