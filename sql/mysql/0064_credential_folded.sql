CREATE TABLE IF NOT EXISTS `credential_folded` (
  `member_id` BIGINT NOT NULL,
  `username` VARCHAR(255) NOT NULL,
  `password_hash` VARCHAR(255) CHARACTER SET ascii COLLATE ascii_bin,
  `version` BIGINT NOT NULL,
  `disabled` SMALLINT NOT NULL,
  `folded` VARBINARY(3060) NOT NULL,
  PRIMARY KEY (`member_id`),
  UNIQUE KEY `credential_found` (`folded`)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
