ALTER TABLE "access_token" ADD COLUMN "changed_since" INTEGER NOT NULL DEFAULT 0;
