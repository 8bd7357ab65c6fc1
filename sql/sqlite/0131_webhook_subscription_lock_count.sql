ALTER TABLE "webhook_subscription" ADD COLUMN "lock_count" INTEGER NOT NULL DEFAULT 0;
