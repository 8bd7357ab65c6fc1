DROP TABLE IF EXISTS "asset_value";
