UPDATE "asset" SET "order_key" = c."order_key"
FROM "rank_carried" c WHERE c."id" = "asset"."id" AND c."moment" = "asset"."moment";
