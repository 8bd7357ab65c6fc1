ALTER TABLE "access_token" ADD COLUMN "ends_with_password" INTEGER NOT NULL DEFAULT 0;
