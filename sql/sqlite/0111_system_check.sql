CREATE TABLE IF NOT EXISTS system_check (
  id         INTEGER NOT NULL PRIMARY KEY,
  state      INTEGER NOT NULL,
  began      INTEGER NOT NULL DEFAULT 0,
  ended      INTEGER NOT NULL DEFAULT 0,
  begun_by   INTEGER NOT NULL DEFAULT 0,
  step       TEXT NOT NULL DEFAULT '',
  done       INTEGER NOT NULL DEFAULT 0,
  steps      INTEGER NOT NULL DEFAULT 0,
  findings   TEXT NULL,
  error      TEXT NOT NULL DEFAULT '',
  owner      TEXT NULL,
  lease      INTEGER NOT NULL DEFAULT 0
);
