INSERT IGNORE INTO `sequence` (`name`, `value`, `stamped_at`) VALUES
  ('id', 1000, 0),
  ('audit', 0, 0),
  ('moment', 1000, 0),
  ('webhook', 0, 0);
