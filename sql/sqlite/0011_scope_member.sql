CREATE TABLE IF NOT EXISTS "scope_member" (
  "scope_id" INTEGER NOT NULL,
  "member_id" INTEGER NOT NULL,
  "role_id" INTEGER NOT NULL,
  "is_owner" INTEGER NOT NULL,
  "since_moment" INTEGER NOT NULL,
  "until_moment" INTEGER NOT NULL,
  PRIMARY KEY ("scope_id", "member_id", "since_moment")
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS "scope_member_member" ON "scope_member" ("member_id", "until_moment", "scope_id");
