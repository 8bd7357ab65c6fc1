INSERT OR IGNORE INTO "sequence" ("name", "value", "stamped_at") VALUES ('release', 0, 0);
