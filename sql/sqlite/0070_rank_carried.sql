CREATE TABLE IF NOT EXISTS "rank_carried" (
  "id" INTEGER NOT NULL,
  "moment" INTEGER NOT NULL,
  "order_key" INTEGER NOT NULL,
  PRIMARY KEY ("id", "moment")
) WITHOUT ROWID;
