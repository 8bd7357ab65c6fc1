INSERT OR IGNORE INTO "scope_hidden" ("scope_id", "by_id", "since_moment", "until_moment")
SELECT c.descendant_id, v.id,
  CASE WHEN c.since_moment > v.moment THEN c.since_moment ELSE v.moment END,
  CASE WHEN c.until_moment < v.until_moment THEN c.until_moment ELSE v.until_moment END
FROM asset_version v JOIN scope_closure c ON c.ancestor_id = v.id
WHERE v.type = 11 AND v.state = 255 AND c.since_moment < v.until_moment AND c.until_moment > v.moment;
