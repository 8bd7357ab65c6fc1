CREATE TABLE IF NOT EXISTS `member_write` (
  `member_id` BIGINT NOT NULL,
  `slot`      INT    NOT NULL,
  `writes`    BIGINT NOT NULL,
  PRIMARY KEY (`member_id`, `slot`)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
