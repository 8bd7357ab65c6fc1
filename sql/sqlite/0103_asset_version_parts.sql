CREATE INDEX IF NOT EXISTS "asset_version_of_scope" ON "asset_version" ("scope_id", "moment", "until_moment");
CREATE INDEX IF NOT EXISTS "asset_version_of_parent" ON "asset_version" ("parent_id", "moment", "until_moment");
CREATE INDEX IF NOT EXISTS "asset_version_of_super" ON "asset_version" ("super_id", "moment", "until_moment");
