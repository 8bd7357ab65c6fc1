ALTER TABLE "asset_version" ADD COLUMN "description_hash" BLOB;
ALTER TABLE "asset_version" ADD COLUMN "attrs_hash" BLOB;
ALTER TABLE "asset_version" ADD COLUMN "folded_hash" BLOB;
