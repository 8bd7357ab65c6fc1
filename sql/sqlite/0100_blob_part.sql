CREATE TABLE IF NOT EXISTS blob_part (
  content TEXT NOT NULL,
  n       INTEGER NOT NULL,
  bytes   BLOB NOT NULL,
  PRIMARY KEY (content, n)
);
