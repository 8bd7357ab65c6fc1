ALTER TABLE webhook_delivery ADD COLUMN asset_id INTEGER NULL;
CREATE INDEX IF NOT EXISTS webhook_delivery_asset ON webhook_delivery (asset_id, subscription_id, first_moment);
