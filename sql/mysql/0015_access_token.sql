CREATE TABLE IF NOT EXISTS `access_token` (
  `id` CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `member_id` BIGINT NOT NULL,
  `name` VARCHAR(255) NOT NULL,
  `token_hash` CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `created_at` BIGINT NOT NULL,
  `expires_at` BIGINT,
  `revoked_at` BIGINT,
  `last_used_at` BIGINT,
  PRIMARY KEY (`id`),
  UNIQUE KEY `access_token_hash` (`token_hash`),
  KEY `access_token_member` (`member_id`)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
