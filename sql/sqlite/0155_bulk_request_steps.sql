ALTER TABLE "bulk_request" ADD COLUMN "progress" BLOB;
ALTER TABLE "bulk_request" ADD COLUMN "executed" INTEGER NOT NULL DEFAULT 0;
