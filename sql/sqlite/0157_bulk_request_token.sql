ALTER TABLE "bulk_request" ADD COLUMN "token_id" TEXT;
