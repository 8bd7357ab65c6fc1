DROP TABLE IF EXISTS "credential";
