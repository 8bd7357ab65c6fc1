UPDATE `asset_version` v JOIN `rank_carried` c ON c.`id` = v.`id` AND c.`moment` = v.`moment`
SET v.`order_key` = c.`order_key`;
