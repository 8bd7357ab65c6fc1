CREATE TABLE IF NOT EXISTS blob_part (
  content CHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  n       INT NOT NULL,
  bytes   MEDIUMBLOB NOT NULL,
  PRIMARY KEY (content, n)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
