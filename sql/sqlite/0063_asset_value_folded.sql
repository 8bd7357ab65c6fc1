CREATE TABLE IF NOT EXISTS "asset_value_folded" (
  "attribute" INTEGER NOT NULL,
  "from_type" INTEGER NOT NULL,
  "from_id" INTEGER NOT NULL,
  "value" TEXT COLLATE ALDS NOT NULL,
  "since_moment" INTEGER NOT NULL,
  "until_moment" INTEGER NOT NULL,
  "folded" TEXT NOT NULL,
  PRIMARY KEY ("attribute", "from_type", "from_id", "folded", "since_moment")
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS "asset_value_found" ON "asset_value_folded" ("attribute", "folded", "until_moment", "from_id");
