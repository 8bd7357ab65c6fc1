INSERT IGNORE INTO `sequence` (`name`, `value`, `stamped_at`) VALUES
  ('metadata', 0, 0),
  ('custom type', 9999, 0),
  ('custom relation', 9999, 0);
