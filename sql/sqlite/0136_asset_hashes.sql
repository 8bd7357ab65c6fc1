ALTER TABLE "asset" ADD COLUMN "description_hash" BLOB;
ALTER TABLE "asset" ADD COLUMN "attrs_hash" BLOB;
ALTER TABLE "asset" ADD COLUMN "folded_hash" BLOB;
