INSERT OR IGNORE INTO system_check (id, state) VALUES (1, 0);
