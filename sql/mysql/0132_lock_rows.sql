INSERT IGNORE INTO `tree_lock` (`name`) VALUES ('administrators'), ('definitions');
