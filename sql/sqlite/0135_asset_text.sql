CREATE TABLE IF NOT EXISTS "asset_text" (
  "asset_id" INTEGER NOT NULL,
  "hash" BLOB NOT NULL,
  "text" TEXT NOT NULL COLLATE ALDS,
  PRIMARY KEY ("asset_id", "hash")
);
