ALTER TABLE "audit" ADD COLUMN "feed" INTEGER;
CREATE INDEX IF NOT EXISTS "audit_feed" ON "audit" ("feed", "last_moment");
