CREATE TABLE IF NOT EXISTS unfinished_restore (
  id       INTEGER NOT NULL PRIMARY KEY,
  began_at INTEGER NOT NULL
);
