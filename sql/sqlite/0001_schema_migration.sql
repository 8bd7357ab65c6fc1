CREATE TABLE IF NOT EXISTS "schema_migration" (
  "version" INTEGER PRIMARY KEY,
  "name" TEXT COLLATE ALDS NOT NULL,
  "checksum" TEXT NOT NULL,
  "applied_at" INTEGER NOT NULL
);
