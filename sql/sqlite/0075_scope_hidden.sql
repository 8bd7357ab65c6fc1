CREATE TABLE IF NOT EXISTS "scope_hidden" (
  "scope_id" INTEGER NOT NULL,
  "by_id" INTEGER NOT NULL,
  "since_moment" INTEGER NOT NULL,
  "until_moment" INTEGER NOT NULL,
  PRIMARY KEY ("scope_id", "by_id", "since_moment")
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS "scope_hidden_until" ON "scope_hidden" ("until_moment", "scope_id");
