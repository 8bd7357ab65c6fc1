CREATE TABLE IF NOT EXISTS `moment_stamp` (
  `last_moment` BIGINT NOT NULL,
  `at` BIGINT NOT NULL,
  PRIMARY KEY (`last_moment`),
  KEY `moment_stamp_at` (`at`)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
