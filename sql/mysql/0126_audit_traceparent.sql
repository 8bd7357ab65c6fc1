ALTER TABLE `audit` ADD COLUMN `traceparent` CHAR(55) CHARACTER SET ascii COLLATE ascii_bin NULL;
