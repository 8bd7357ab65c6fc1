DROP TABLE IF EXISTS `rank_carried`;
