CREATE TABLE IF NOT EXISTS webhook_receipt (
  id                CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL PRIMARY KEY,
  subscription_id   CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  delivery_id       CHAR(36) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  url               VARCHAR(2000) NOT NULL,
  has_authorization SMALLINT NOT NULL,
  response          TEXT NULL,
  headers           TEXT NULL,
  status            INT NOT NULL,
  at                BIGINT NOT NULL,
  retry_count       INT NOT NULL,
  was_received      SMALLINT NOT NULL,
  KEY webhook_receipt_newest (subscription_id, at, id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
