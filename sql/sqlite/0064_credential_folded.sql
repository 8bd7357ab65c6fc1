CREATE TABLE IF NOT EXISTS "credential_folded" (
  "member_id" INTEGER PRIMARY KEY,
  "username" TEXT COLLATE ALDS NOT NULL,
  "password_hash" TEXT,
  "version" INTEGER NOT NULL,
  "disabled" INTEGER NOT NULL,
  "folded" TEXT NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS "credential_found" ON "credential_folded" ("folded");
