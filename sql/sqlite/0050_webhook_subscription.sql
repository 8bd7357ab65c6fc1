CREATE TABLE IF NOT EXISTS webhook_subscription (
  id               TEXT NOT NULL PRIMARY KEY,
  webhook_id       TEXT COLLATE ALDS NULL,
  url              TEXT NOT NULL,
  authorization    TEXT NULL,
  secret           TEXT NULL,
  previous_secret  TEXT NULL,
  previous_until   INTEGER NULL,
  description      TEXT COLLATE ALDS NULL,
  enabled          INTEGER NOT NULL,
  paused           INTEGER NOT NULL DEFAULT 0,
  max_batch        INTEGER NOT NULL DEFAULT 0,
  event_types      TEXT NOT NULL,
  disabled_reason  TEXT NULL,
  exhausted_in_row INTEGER NOT NULL DEFAULT 0,
  failures_in_row  INTEGER NOT NULL DEFAULT 0,
  breaker_state    INTEGER NOT NULL DEFAULT 0,
  breaker_until    INTEGER NOT NULL DEFAULT 0,
  retry_count      INTEGER NOT NULL DEFAULT 0,
  last_response_at INTEGER NOT NULL DEFAULT 0,
  created_at       INTEGER NOT NULL,
  updated_at       INTEGER NOT NULL,
  created_by       INTEGER NOT NULL,
  since_generation INTEGER NOT NULL,
  generation       INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS webhook_subscription_created ON webhook_subscription (created_at, id);
CREATE INDEX IF NOT EXISTS webhook_subscription_enabled ON webhook_subscription (enabled, id);
