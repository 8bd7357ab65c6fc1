UPDATE "asset" SET "state" = COALESCE((
  SELECT CASE l.to_id WHEN 100 THEN 0 WHEN 102 THEN 128 ELSE 64 END FROM asset_link l
  WHERE l.relation = 39 AND l.from_type = 12 AND l.from_id = asset.id AND l.until_moment = 9223372036854775807
), 64) WHERE type = 12 AND state = 64;
