CREATE TABLE IF NOT EXISTS `asset_value` (
  `attribute` SMALLINT NOT NULL,
  `from_type` SMALLINT NOT NULL,
  `from_id` BIGINT NOT NULL,
  `value` VARCHAR(400) NOT NULL,
  `since_moment` BIGINT NOT NULL,
  `until_moment` BIGINT NOT NULL,
  PRIMARY KEY (`attribute`, `from_type`, `from_id`, `value`, `since_moment`),
  KEY `asset_value_value` (`attribute`, `value`, `until_moment`, `from_id`)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
