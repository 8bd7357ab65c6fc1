CREATE TABLE IF NOT EXISTS `scope_member` (
  `scope_id` BIGINT NOT NULL,
  `member_id` BIGINT NOT NULL,
  `role_id` BIGINT NOT NULL,
  `is_owner` SMALLINT NOT NULL,
  `since_moment` BIGINT NOT NULL,
  `until_moment` BIGINT NOT NULL,
  PRIMARY KEY (`scope_id`, `member_id`, `since_moment`),
  KEY `scope_member_member` (`member_id`, `until_moment`, `scope_id`)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
