ALTER TABLE "access_token" ADD COLUMN "last_address" TEXT;
