CREATE TABLE IF NOT EXISTS process (
  id           CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  role         VARCHAR(64) NOT NULL,
  version      VARCHAR(100) NOT NULL,
  host         VARCHAR(255) NOT NULL,
  started      BIGINT NOT NULL,
  seen         BIGINT NOT NULL,
  slow_queries TEXT NOT NULL,
  KEY process_seen (seen)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
