ALTER TABLE webhook_delivery ADD COLUMN asset_id BIGINT NULL, ADD KEY webhook_delivery_asset (asset_id, subscription_id, first_moment);
