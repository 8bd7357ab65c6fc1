CREATE TABLE IF NOT EXISTS `rank_carried` (
  `id` BIGINT NOT NULL,
  `moment` BIGINT NOT NULL,
  `order_key` BIGINT NOT NULL,
  PRIMARY KEY (`id`, `moment`)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
