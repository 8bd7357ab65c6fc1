ALTER TABLE `access_token` ADD COLUMN `changed_since` BIGINT NOT NULL DEFAULT 0;
