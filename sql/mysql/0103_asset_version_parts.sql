ALTER TABLE `asset_version`
  ADD KEY `asset_version_of_scope` (`scope_id`, `moment`, `until_moment`),
  ADD KEY `asset_version_of_parent` (`parent_id`, `moment`, `until_moment`),
  ADD KEY `asset_version_of_super` (`super_id`, `moment`, `until_moment`);
