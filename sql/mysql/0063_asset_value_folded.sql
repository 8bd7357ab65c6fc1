CREATE TABLE IF NOT EXISTS `asset_value_folded` (
  `attribute` SMALLINT NOT NULL,
  `from_type` SMALLINT NOT NULL,
  `from_id` BIGINT NOT NULL,
  `value` VARCHAR(400) NOT NULL,
  `since_moment` BIGINT NOT NULL,
  `until_moment` BIGINT NOT NULL,
  `folded` VARBINARY(2400) NOT NULL,
  PRIMARY KEY (`attribute`, `from_type`, `from_id`, `folded`, `since_moment`),
  KEY `asset_value_found` (`attribute`, `folded`, `until_moment`, `from_id`)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
