CREATE TABLE IF NOT EXISTS "member_write" (
  "member_id" INTEGER NOT NULL,
  "slot"      INTEGER NOT NULL,
  "writes"    INTEGER NOT NULL,
  PRIMARY KEY ("member_id", "slot")
);
