CREATE TABLE IF NOT EXISTS "proposal" (
  "asset_id"      INTEGER NOT NULL,
  "plan_id"       TEXT    NOT NULL,
  "member_id"     INTEGER NOT NULL,
  "request"       BLOB    NOT NULL,
  "effect"        BLOB    NOT NULL,
  "subscriptions" INTEGER NOT NULL,
  PRIMARY KEY ("asset_id")
);
CREATE UNIQUE INDEX IF NOT EXISTS "proposal_plan" ON "proposal" ("plan_id");
CREATE INDEX IF NOT EXISTS "proposal_member" ON "proposal" ("member_id");
