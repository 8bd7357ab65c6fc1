ALTER TABLE "audit" ADD COLUMN "traceparent" TEXT;
