CREATE INDEX IF NOT EXISTS "asset_team" ON "asset" ("team_id", "order_key");
