CREATE TABLE IF NOT EXISTS "asset" (
  "id" INTEGER PRIMARY KEY,
  "type" INTEGER NOT NULL,
  "state" INTEGER NOT NULL,
  "moment" INTEGER NOT NULL,
  "audit_id" INTEGER NOT NULL,
  "created_moment" INTEGER NOT NULL,
  "created_at" INTEGER NOT NULL,
  "created_by" INTEGER NOT NULL,
  "changed_at" INTEGER NOT NULL,
  "changed_by" INTEGER NOT NULL,
  "name" TEXT COLLATE ALDS,
  "number" TEXT COLLATE ALDS,
  "description" TEXT COLLATE ALDS,
  "scope_id" INTEGER,
  "parent_id" INTEGER,
  "super_id" INTEGER,
  "timebox_id" INTEGER,
  "team_id" INTEGER,
  "status_id" INTEGER,
  "priority_id" INTEGER,
  "source_id" INTEGER,
  "category_id" INTEGER,
  "order_key" INTEGER,
  "estimate" REAL,
  "todo" REAL,
  "detail_estimate" REAL,
  "value" REAL,
  "begin_date" INTEGER,
  "end_date" INTEGER,
  "attrs" TEXT
);
CREATE INDEX IF NOT EXISTS "asset_scope" ON "asset" ("scope_id", "order_key", "id", "type", "state");
CREATE INDEX IF NOT EXISTS "asset_order" ON "asset" ("order_key", "id", "scope_id", "type", "state");
CREATE INDEX IF NOT EXISTS "asset_type" ON "asset" ("type", "id", "state", "scope_id");
CREATE INDEX IF NOT EXISTS "asset_parent" ON "asset" ("parent_id", "order_key");
CREATE INDEX IF NOT EXISTS "asset_super" ON "asset" ("super_id", "order_key");
CREATE INDEX IF NOT EXISTS "asset_timebox" ON "asset" ("timebox_id", "order_key");
CREATE INDEX IF NOT EXISTS "asset_status" ON "asset" ("status_id");
CREATE INDEX IF NOT EXISTS "asset_number" ON "asset" ("number");
CREATE INDEX IF NOT EXISTS "asset_moment" ON "asset" ("moment");
