INSERT OR IGNORE INTO "sequence" ("name", "value", "stamped_at") VALUES ('localization', 1, 0);
