INSERT OR IGNORE INTO "tree_lock" ("name") VALUES ('AssetType');
