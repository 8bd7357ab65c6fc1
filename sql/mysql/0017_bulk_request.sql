CREATE TABLE IF NOT EXISTS `bulk_request` (
  `id` CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `actor_id` BIGINT NOT NULL,
  `idem_key` VARCHAR(255) COLLATE utf8mb4_bin,
  `body_hash` CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `status` SMALLINT NOT NULL,
  `request` LONGBLOB,
  `answer` LONGBLOB,
  `created_at` BIGINT NOT NULL,
  `expires_at` BIGINT NOT NULL,
  `owner` VARCHAR(64) CHARACTER SET ascii COLLATE ascii_bin,
  `lease` BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (`id`),
  UNIQUE KEY `bulk_request_idem` (`actor_id`, `idem_key`),
  KEY `bulk_request_expires` (`expires_at`)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
