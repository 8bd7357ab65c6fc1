CREATE TABLE IF NOT EXISTS `asset_link` (
  `relation` SMALLINT NOT NULL,
  `from_type` SMALLINT NOT NULL,
  `from_id` BIGINT NOT NULL,
  `to_id` BIGINT NOT NULL,
  `since_moment` BIGINT NOT NULL,
  `until_moment` BIGINT NOT NULL,
  PRIMARY KEY (`relation`, `from_type`, `from_id`, `to_id`, `since_moment`),
  KEY `asset_link_to` (`relation`, `to_id`, `until_moment`, `from_id`)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
