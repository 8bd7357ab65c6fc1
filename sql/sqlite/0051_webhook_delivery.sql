CREATE TABLE IF NOT EXISTS webhook_delivery (
  id              TEXT NOT NULL PRIMARY KEY,
  subscription_id TEXT NOT NULL,
  audit_id        INTEGER NULL,
  kind            INTEGER NOT NULL DEFAULT 0,
  first_moment    INTEGER NOT NULL,
  last_moment     INTEGER NOT NULL,
  events          INTEGER NOT NULL,
  payload         BLOB NOT NULL,
  state           INTEGER NOT NULL,
  due             INTEGER NOT NULL,
  owner           TEXT NULL,
  fence           INTEGER NOT NULL DEFAULT 0,
  lease           INTEGER NOT NULL DEFAULT 0,
  claims          INTEGER NOT NULL DEFAULT 0,
  attempts        INTEGER NOT NULL DEFAULT 0,
  last_status     INTEGER NOT NULL DEFAULT 0,
  last_error      TEXT NULL,
  committed_at    INTEGER NOT NULL,
  created_at      INTEGER NOT NULL,
  settled_at      INTEGER NULL,
  UNIQUE (subscription_id, audit_id, first_moment, kind)
);
CREATE INDEX IF NOT EXISTS webhook_delivery_work ON webhook_delivery (state, subscription_id, due, id);
CREATE INDEX IF NOT EXISTS webhook_delivery_due ON webhook_delivery (state, due);
