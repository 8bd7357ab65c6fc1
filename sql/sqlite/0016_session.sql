CREATE TABLE IF NOT EXISTS "session" (
  "id_hash" TEXT NOT NULL PRIMARY KEY,
  "member_id" INTEGER NOT NULL,
  "created_at" INTEGER NOT NULL,
  "expires_at" INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS "session_expires" ON "session" ("expires_at");
