CREATE TABLE IF NOT EXISTS "asset_value" (
  "attribute" INTEGER NOT NULL,
  "from_type" INTEGER NOT NULL,
  "from_id" INTEGER NOT NULL,
  "value" TEXT COLLATE ALDS NOT NULL,
  "since_moment" INTEGER NOT NULL,
  "until_moment" INTEGER NOT NULL,
  PRIMARY KEY ("attribute", "from_type", "from_id", "value", "since_moment")
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS "asset_value_value" ON "asset_value" ("attribute", "value", "until_moment", "from_id");
