ALTER TABLE `bulk_request`
  ADD COLUMN `commands` INT NOT NULL DEFAULT 0,
  ADD COLUMN `claims` INT NOT NULL DEFAULT 0,
  ADD KEY `bulk_request_waiting` (`status`, `lease`);
