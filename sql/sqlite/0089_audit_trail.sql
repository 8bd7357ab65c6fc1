CREATE TABLE IF NOT EXISTS audit_trail (
  at        INTEGER NOT NULL,
  id        INTEGER NOT NULL,
  kind      TEXT NOT NULL,
  actor_id  INTEGER NULL,
  address   TEXT NULL,
  member_id INTEGER NULL,
  scope_id  INTEGER NULL,
  events    INTEGER NOT NULL,
  first_at  INTEGER NULL,
  detail    TEXT NULL,
  PRIMARY KEY (at, id)
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS audit_trail_kind ON audit_trail (kind, at, id);
CREATE INDEX IF NOT EXISTS audit_trail_actor ON audit_trail (actor_id, at, id);
CREATE INDEX IF NOT EXISTS audit_trail_member ON audit_trail (member_id, at, id);
CREATE INDEX IF NOT EXISTS audit_trail_scope ON audit_trail (scope_id, at, id);
