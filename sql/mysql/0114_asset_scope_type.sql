ALTER TABLE `asset` ADD KEY `asset_scope_type` (`scope_id`, `type`, `id`, `state`);
