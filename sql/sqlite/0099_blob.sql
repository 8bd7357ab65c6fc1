CREATE TABLE IF NOT EXISTS blob_content (
  id         TEXT NOT NULL PRIMARY KEY,
  hash       TEXT NULL,
  size       INTEGER NOT NULL DEFAULT 0,
  outside    INTEGER NOT NULL DEFAULT 0,
  kept       INTEGER NOT NULL DEFAULT 0,
  touched_at INTEGER NOT NULL,
  UNIQUE (hash)
);
CREATE INDEX IF NOT EXISTS blob_unkept ON blob_content (kept, touched_at);
