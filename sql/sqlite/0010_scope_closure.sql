CREATE TABLE IF NOT EXISTS "scope_closure" (
  "ancestor_id" INTEGER NOT NULL,
  "descendant_id" INTEGER NOT NULL,
  "since_moment" INTEGER NOT NULL,
  "until_moment" INTEGER NOT NULL,
  "depth" INTEGER NOT NULL,
  PRIMARY KEY ("ancestor_id", "descendant_id", "since_moment")
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS "scope_closure_descendant" ON "scope_closure" ("descendant_id", "until_moment", "ancestor_id");
