CREATE TABLE IF NOT EXISTS webhook_payload (
  id         CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  body       LONGBLOB NOT NULL,
  created_at BIGINT NOT NULL,
  KEY webhook_payload_age (created_at)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
