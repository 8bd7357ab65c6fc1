UPDATE "asset_version" SET "order_key" = c."order_key"
FROM "rank_carried" c WHERE c."id" = "asset_version"."id" AND c."moment" = "asset_version"."moment";
