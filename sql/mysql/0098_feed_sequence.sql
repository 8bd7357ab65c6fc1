INSERT IGNORE INTO `sequence` (`name`, `value`, `stamped_at`) VALUES ('feed', 0, 0);
