ALTER TABLE `asset_version`
  ADD COLUMN `description_hash` BINARY(16),
  ADD COLUMN `attrs_hash` BINARY(16),
  ADD COLUMN `folded_hash` BINARY(16);
