CREATE TABLE IF NOT EXISTS `write_lock` (
  `slot`       INT    NOT NULL,
  `lock_count` BIGINT NOT NULL,
  PRIMARY KEY (`slot`)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
