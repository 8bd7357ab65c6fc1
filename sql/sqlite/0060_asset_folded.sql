ALTER TABLE "asset" ADD COLUMN "folded" TEXT;
