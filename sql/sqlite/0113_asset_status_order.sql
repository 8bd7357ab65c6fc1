CREATE INDEX IF NOT EXISTS "asset_status_order" ON "asset" ("status_id", "scope_id", "order_key", "id", "type", "state");
DROP INDEX IF EXISTS "asset_status";
