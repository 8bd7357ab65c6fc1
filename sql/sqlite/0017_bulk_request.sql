CREATE TABLE IF NOT EXISTS "bulk_request" (
  "id" TEXT NOT NULL PRIMARY KEY,
  "actor_id" INTEGER NOT NULL,
  "idem_key" TEXT,
  "body_hash" TEXT NOT NULL,
  "status" INTEGER NOT NULL,
  "request" BLOB,
  "answer" BLOB,
  "created_at" INTEGER NOT NULL,
  "expires_at" INTEGER NOT NULL,
  "owner" TEXT,
  "lease" INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX IF NOT EXISTS "bulk_request_idem" ON "bulk_request" ("actor_id", "idem_key");
CREATE INDEX IF NOT EXISTS "bulk_request_expires" ON "bulk_request" ("expires_at");
