ALTER TABLE `schema_migration` ADD COLUMN `oldest_release` VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL DEFAULT '';
