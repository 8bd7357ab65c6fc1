CREATE INDEX IF NOT EXISTS "asset_scope_type" ON "asset" ("scope_id", "type", "id", "state");
