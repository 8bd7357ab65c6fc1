ALTER TABLE `audit` ADD COLUMN `feed` BIGINT NULL, ADD KEY `audit_feed` (`feed`, `last_moment`);
