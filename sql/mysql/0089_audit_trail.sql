CREATE TABLE IF NOT EXISTS audit_trail (
  at        BIGINT NOT NULL,
  id        BIGINT NOT NULL,
  kind      VARCHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL,
  actor_id  BIGINT NULL,
  address   VARCHAR(64) NULL,
  member_id BIGINT NULL,
  scope_id  BIGINT NULL,
  events    INT NOT NULL,
  first_at  BIGINT NULL,
  detail    TEXT NULL,
  PRIMARY KEY (at, id),
  KEY audit_trail_kind (kind, at, id),
  KEY audit_trail_actor (actor_id, at, id),
  KEY audit_trail_member (member_id, at, id),
  KEY audit_trail_scope (scope_id, at, id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci;
