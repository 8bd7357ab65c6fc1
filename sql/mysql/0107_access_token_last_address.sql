ALTER TABLE `access_token` ADD COLUMN `last_address` VARCHAR(64);
