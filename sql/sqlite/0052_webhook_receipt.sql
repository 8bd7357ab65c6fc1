CREATE TABLE IF NOT EXISTS webhook_receipt (
  id                TEXT NOT NULL PRIMARY KEY,
  subscription_id   TEXT NOT NULL,
  delivery_id       TEXT NOT NULL,
  url               TEXT NOT NULL,
  has_authorization INTEGER NOT NULL,
  response          TEXT NULL,
  headers           TEXT NULL,
  status            INTEGER NOT NULL,
  at                INTEGER NOT NULL,
  retry_count       INTEGER NOT NULL,
  was_received      INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS webhook_receipt_newest ON webhook_receipt (subscription_id, at, id);
