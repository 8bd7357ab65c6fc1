CREATE TABLE IF NOT EXISTS "moment_stamp" (
  "last_moment" INTEGER PRIMARY KEY,
  "at" INTEGER NOT NULL
);
CREATE INDEX IF NOT EXISTS "moment_stamp_at" ON "moment_stamp" ("at");
