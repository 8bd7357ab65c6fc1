ALTER TABLE `access_token` ADD COLUMN `bounds` TEXT;
