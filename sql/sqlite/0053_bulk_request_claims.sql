ALTER TABLE "bulk_request" ADD COLUMN "commands" INTEGER NOT NULL DEFAULT 0;
ALTER TABLE "bulk_request" ADD COLUMN "claims" INTEGER NOT NULL DEFAULT 0;
CREATE INDEX IF NOT EXISTS "bulk_request_waiting" ON "bulk_request" ("status", "lease");
