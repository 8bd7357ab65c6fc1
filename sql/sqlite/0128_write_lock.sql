CREATE TABLE IF NOT EXISTS "write_lock" (
  "slot"       INTEGER NOT NULL PRIMARY KEY,
  "lock_count" INTEGER NOT NULL
);
