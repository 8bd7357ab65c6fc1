CREATE TABLE IF NOT EXISTS definition_purge (
  definition_id INTEGER NOT NULL PRIMARY KEY,
  done_id INTEGER NOT NULL
);
