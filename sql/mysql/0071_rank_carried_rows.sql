INSERT IGNORE INTO `rank_carried` (`id`, `moment`, `order_key`)
SELECT d.`id`, d.`moment`, 16777216 + d.`place` * CASE WHEN n.`ranks` <= 33000000 THEN 32 WHEN n.`ranks` <= 260000000 THEN 4 ELSE 1 END
FROM (
  SELECT v.`id`, v.`moment`, DENSE_RANK() OVER (ORDER BY v.`order_key`) AS `place`
  FROM `asset_version` v
  LEFT JOIN (
    SELECT `type` FROM `asset_version` WHERE `order_key` IS NOT NULL
    GROUP BY `type` HAVING MIN(`id`) <= 1000 AND MIN(`order_key`) > 0
  ) k ON k.`type` = v.`type`
  WHERE v.`order_key` IS NOT NULL AND (k.`type` IS NULL OR v.`order_key` > 1048576)
) d
CROSS JOIN (SELECT COUNT(DISTINCT `order_key`) AS `ranks` FROM `asset_version`) n;
