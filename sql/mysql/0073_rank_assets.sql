UPDATE `asset` a JOIN `rank_carried` c ON c.`id` = a.`id` AND c.`moment` = a.`moment`
SET a.`order_key` = c.`order_key`;
