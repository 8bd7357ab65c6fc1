ALTER TABLE webhook_receipt ADD COLUMN given_up CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL;
