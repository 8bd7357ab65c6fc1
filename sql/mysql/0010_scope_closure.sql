CREATE TABLE IF NOT EXISTS `scope_closure` (
  `ancestor_id` BIGINT NOT NULL,
  `descendant_id` BIGINT NOT NULL,
  `since_moment` BIGINT NOT NULL,
  `until_moment` BIGINT NOT NULL,
  `depth` INT NOT NULL,
  PRIMARY KEY (`ancestor_id`, `descendant_id`, `since_moment`),
  KEY `scope_closure_descendant` (`descendant_id`, `until_moment`, `ancestor_id`)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
