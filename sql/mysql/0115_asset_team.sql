ALTER TABLE `asset` ADD KEY `asset_team` (`team_id`, `order_key`);
