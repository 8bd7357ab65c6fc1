UPDATE "asset_version" SET "state" = COALESCE((
  SELECT CASE l.to_id WHEN 100 THEN 0 WHEN 102 THEN 128 ELSE 64 END FROM asset_link l
  WHERE l.relation = 39 AND l.from_type = 12 AND l.from_id = asset_version.id AND l.since_moment <= asset_version.moment AND l.until_moment > asset_version.moment
), 64) WHERE type = 12 AND state = 64;
