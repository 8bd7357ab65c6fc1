ALTER TABLE "schema_migration" ADD COLUMN "oldest_release" TEXT NOT NULL DEFAULT '';
