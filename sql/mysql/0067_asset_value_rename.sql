ALTER TABLE `asset_value_folded` RENAME TO `asset_value`;
