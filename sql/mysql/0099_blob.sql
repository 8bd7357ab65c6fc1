CREATE TABLE IF NOT EXISTS blob_content (
  id         CHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  hash       CHAR(64) CHARACTER SET ascii COLLATE ascii_bin NULL,
  size       BIGINT NOT NULL DEFAULT 0,
  outside    SMALLINT NOT NULL DEFAULT 0,
  kept       SMALLINT NOT NULL DEFAULT 0,
  touched_at BIGINT NOT NULL,
  UNIQUE KEY blob_hash (hash),
  KEY blob_unkept (kept, touched_at)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
