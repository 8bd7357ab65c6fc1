ALTER TABLE `webhook_subscription` ADD COLUMN `lock_count` BIGINT NOT NULL DEFAULT 0;
