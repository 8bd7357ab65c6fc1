CREATE TABLE IF NOT EXISTS `schema_migration` (
  `version` INT NOT NULL,
  `name` VARCHAR(200) NOT NULL,
  `checksum` CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `applied_at` BIGINT NOT NULL,
  PRIMARY KEY (`version`)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
