CREATE TABLE IF NOT EXISTS `proposal` (
  `asset_id`      BIGINT     NOT NULL,
  `plan_id`       CHAR(36)   CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  `member_id`     BIGINT     NOT NULL,
  `request`       MEDIUMBLOB NOT NULL,
  `effect`        MEDIUMBLOB NOT NULL,
  `subscriptions` INT        NOT NULL,
  PRIMARY KEY (`asset_id`),
  UNIQUE KEY `proposal_plan` (`plan_id`),
  KEY `proposal_member` (`member_id`)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
