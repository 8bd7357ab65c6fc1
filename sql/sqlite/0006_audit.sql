CREATE TABLE IF NOT EXISTS "audit" (
  "id" INTEGER PRIMARY KEY,
  "request_id" TEXT NOT NULL,
  "actor_id" INTEGER NOT NULL,
  "at" INTEGER NOT NULL,
  "comment" TEXT COLLATE ALDS,
  "first_moment" INTEGER NOT NULL,
  "last_moment" INTEGER NOT NULL,
  "generation" INTEGER NOT NULL,
  "fan_state" INTEGER NOT NULL DEFAULT 0,
  "fan_moment" INTEGER NOT NULL DEFAULT 0,
  "fan_owner" TEXT,
  "fan_fence" INTEGER NOT NULL DEFAULT 0,
  "fan_lease" INTEGER NOT NULL DEFAULT 0,
  "fan_claims" INTEGER NOT NULL DEFAULT 0,
  "fan_error" TEXT
);
CREATE UNIQUE INDEX IF NOT EXISTS "audit_request" ON "audit" ("request_id");
CREATE INDEX IF NOT EXISTS "audit_fan" ON "audit" ("fan_state", "fan_lease", "id");
