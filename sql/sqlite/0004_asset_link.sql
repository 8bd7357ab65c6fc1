CREATE TABLE IF NOT EXISTS "asset_link" (
  "relation" INTEGER NOT NULL,
  "from_type" INTEGER NOT NULL,
  "from_id" INTEGER NOT NULL,
  "to_id" INTEGER NOT NULL,
  "since_moment" INTEGER NOT NULL,
  "until_moment" INTEGER NOT NULL,
  PRIMARY KEY ("relation", "from_type", "from_id", "to_id", "since_moment")
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS "asset_link_to" ON "asset_link" ("relation", "to_id", "until_moment", "from_id");
