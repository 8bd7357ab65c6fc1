CREATE TABLE IF NOT EXISTS "credential" (
  "member_id" INTEGER PRIMARY KEY,
  "username" TEXT COLLATE ALDS NOT NULL,
  "password_hash" TEXT,
  "version" INTEGER NOT NULL,
  "disabled" INTEGER NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS "credential_username" ON "credential" ("username");
