INSERT IGNORE INTO `sequence` (`name`, `value`, `stamped_at`) VALUES ('model', 1, 0);
