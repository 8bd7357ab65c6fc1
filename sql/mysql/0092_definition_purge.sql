CREATE TABLE IF NOT EXISTS `definition_purge` (
  `definition_id` BIGINT NOT NULL PRIMARY KEY,
  `done_id` BIGINT NOT NULL
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
