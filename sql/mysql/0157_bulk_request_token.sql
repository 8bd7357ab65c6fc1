ALTER TABLE `bulk_request` ADD COLUMN `token_id` CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NULL;
