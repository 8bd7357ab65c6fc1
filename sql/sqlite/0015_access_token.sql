CREATE TABLE IF NOT EXISTS "access_token" (
  "id" TEXT NOT NULL PRIMARY KEY,
  "member_id" INTEGER NOT NULL,
  "name" TEXT COLLATE ALDS NOT NULL,
  "token_hash" TEXT NOT NULL,
  "created_at" INTEGER NOT NULL,
  "expires_at" INTEGER,
  "revoked_at" INTEGER,
  "last_used_at" INTEGER
) WITHOUT ROWID;
CREATE UNIQUE INDEX IF NOT EXISTS "access_token_hash" ON "access_token" ("token_hash");
CREATE INDEX IF NOT EXISTS "access_token_member" ON "access_token" ("member_id");
