CREATE TABLE IF NOT EXISTS `asset_text` (
  `asset_id` BIGINT NOT NULL,
  `hash` BINARY(16) NOT NULL,
  `text` LONGTEXT NOT NULL,
  PRIMARY KEY (`asset_id`, `hash`)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
