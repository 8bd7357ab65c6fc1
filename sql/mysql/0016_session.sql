CREATE TABLE IF NOT EXISTS `session` (
  `id_hash` CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `member_id` BIGINT NOT NULL,
  `created_at` BIGINT NOT NULL,
  `expires_at` BIGINT NOT NULL,
  PRIMARY KEY (`id_hash`),
  KEY `session_expires` (`expires_at`)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
