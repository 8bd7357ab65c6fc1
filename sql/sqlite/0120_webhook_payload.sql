CREATE TABLE IF NOT EXISTS webhook_payload (
  id         TEXT NOT NULL PRIMARY KEY,
  body       BLOB NOT NULL,
  created_at INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS webhook_payload_age ON webhook_payload (created_at);
