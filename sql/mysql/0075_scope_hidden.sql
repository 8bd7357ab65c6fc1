CREATE TABLE IF NOT EXISTS `scope_hidden` (
  `scope_id` BIGINT NOT NULL,
  `by_id` BIGINT NOT NULL,
  `since_moment` BIGINT NOT NULL,
  `until_moment` BIGINT NOT NULL,
  PRIMARY KEY (`scope_id`, `by_id`, `since_moment`),
  KEY `scope_hidden_until` (`until_moment`, `scope_id`)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
