INSERT OR IGNORE INTO "sequence" ("name", "value", "stamped_at") VALUES ('horizon', 0, 0), ('horizon feed', 0, 0), ('pruned', 0, 0);
