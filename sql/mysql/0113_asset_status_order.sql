ALTER TABLE `asset`
  ADD KEY `asset_status_order` (`status_id`, `scope_id`, `order_key`, `id`, `type`, `state`),
  DROP KEY `asset_status`;
