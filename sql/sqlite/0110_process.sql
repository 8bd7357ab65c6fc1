CREATE TABLE IF NOT EXISTS process (
  id           TEXT NOT NULL PRIMARY KEY,
  role         TEXT NOT NULL,
  version      TEXT NOT NULL,
  host         TEXT NOT NULL,
  started      INTEGER NOT NULL,
  seen         INTEGER NOT NULL,
  slow_queries TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS process_seen ON process (seen);
