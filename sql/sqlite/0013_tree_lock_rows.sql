INSERT OR IGNORE INTO "tree_lock" ("name") VALUES
  ('Scope'),
  ('Workitem'),
  ('Story.Split');
