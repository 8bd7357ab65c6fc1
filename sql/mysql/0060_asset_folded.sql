ALTER TABLE `asset` ADD COLUMN `folded` JSON;
