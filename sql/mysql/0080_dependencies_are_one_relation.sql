UPDATE `asset_link` SET `relation` = 5 WHERE `relation` IN (18, 24);
