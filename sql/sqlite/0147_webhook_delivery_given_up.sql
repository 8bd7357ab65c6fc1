ALTER TABLE webhook_delivery ADD COLUMN given_up TEXT NULL;
