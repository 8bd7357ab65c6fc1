ALTER TABLE "asset_version" ADD COLUMN "folded" TEXT;
