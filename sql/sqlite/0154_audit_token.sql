ALTER TABLE "audit" ADD COLUMN "token_id" TEXT;
